// Says when the queue may have changed: over a WebSocket, and while that is away by asking every ten seconds.

import { listen } from "./socket.js";

const POLL = 10_000;
const FORBIDDEN = 4403;
// News often come several at once.
const TOGETHER = 200;

/** Calls `refresh` whenever something may have changed, one at a time; `onState` gets "live" or "away".
 * Returns what calls it for another reason. */
export function watch({ refresh, onState }) {
  let polling = 0;
  let running = false;
  let again = false;

  async function changed() {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      // The next event, or the next poll, repairs what fails here.
      await refresh().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, TOGETHER));
    }
    running = false;
  }

  const good = listen("/ws/approvals/", {
    onMessage({ type }) {
      if (type === "ready") {
        good();
        clearInterval(polling);
        polling = 0;
        onState("live");
      }
      if (type === "ready" || type === "approval") changed();
    },
    onClose(code) {
      onState("away");
      // Shown out: the page itself says why.
      if (code === FORBIDDEN) changed();
      polling ||= setInterval(changed, POLL);
    },
  });

  document.addEventListener("visibilitychange", () => document.hidden || changed());
  return changed;
}
