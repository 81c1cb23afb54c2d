// What every page has: menus that close, times in the reader's own zone, and the number of unread entries.

import "./inbox-live.js";

for (const menu of document.querySelectorAll("details.menu")) {
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

const SHORT = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const LONG = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const moment = new Date(time.dateTime);
    const today = moment.toDateString() === new Date().toDateString();
    const form = time.dataset.form === "long" ? LONG : today ? CLOCK : SHORT;
    time.title = `${moment.toISOString().replace("T", " ").slice(0, 19)} UTC`;
    time.textContent = form.format(moment);
  }
}

localise(document);
document.addEventListener("htmx:afterSwap", () => localise(document));
