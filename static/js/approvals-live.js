// Says when the queue may have changed: over a WebSocket, and while that is away by asking every ten seconds.

const PAUSES = [500, 1000, 2000, 5000, 10_000, 30_000];
const POLL = 10_000;
const FORBIDDEN = 4403;
// News often come several at once.
const TOGETHER = 200;

/** Calls `refresh` whenever something may have changed, one at a time; `onState` gets "live" or "away".
 * Returns what calls it for another reason. */
export function watch({ refresh, onState }) {
  let failures = 0;
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

  function connect() {
    const socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/ws/approvals/`);
    socket.addEventListener("message", ({ data }) => {
      const { type } = JSON.parse(data);
      if (type === "ready") {
        failures = 0;
        clearInterval(polling);
        polling = 0;
        onState("live");
      }
      if (type === "ready" || type === "approval") changed();
    });
    socket.addEventListener("close", ({ code }) => {
      onState("away");
      // Shown out: the page itself says why.
      if (code === FORBIDDEN) changed();
      polling ||= setInterval(changed, POLL);
      setTimeout(connect, PAUSES[Math.min(failures, PAUSES.length - 1)]);
      failures += 1;
    });
  }

  document.addEventListener("visibilitychange", () => document.hidden || changed());
  connect();
  return changed;
}
