// Times as people say them: in the reader's own zone, and how far away they are.

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const CLOCK = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const SOON = 3600;
const EVERY = 10_000;

/** Write the times within `root`. */
export function tick(root) {
  for (const time of root.querySelectorAll("time[data-clock]")) time.textContent = CLOCK.format(new Date(time.dateTime));
  for (const time of root.querySelectorAll("time[data-ago], time[data-left]")) {
    const seconds = (new Date(time.dateTime) - Date.now()) / 1000;
    time.textContent = relative(seconds, "ago" in time.dataset ? "just now" : "now");
    if ("left" in time.dataset) time.closest(".pill")?.toggleAttribute("data-soon", seconds < SOON);
  }
}

/** "in 23 hours", "3 minutes ago"; `now` within a few seconds. */
function relative(seconds, now) {
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ["second", 1];
  if (Math.abs(seconds) < 5) return now;
  return WORDS.format(Math.trunc(seconds / size), unit);
}

tick(document);
setInterval(() => tick(document), EVERY);
