// The approver's queue: decides by the cards' own forms, and keeps the cards as the server has them.

import { bulk } from "./approvals-bulk.js";
import { announce, decide, dress, nextAfter, replace } from "./approvals-cards.js";
import { preview } from "./approvals-edit.js";
import { watch } from "./approvals-live.js";

const queue = document.getElementById("queue");
const title = document.title;
let byKeyboard = false;

document.addEventListener("keydown", () => (byKeyboard = true), true);
document.addEventListener("pointerdown", () => (byKeyboard = false), true);

queue.querySelectorAll(".request").forEach(dress);
count(document);
bulk(queue);
const look = queue.dataset.live ? watch({ refresh, onState }) : refresh;

queue.addEventListener("submit", async (event) => {
  event.preventDefault();
  const card = event.target.closest(".request");
  const after = nextAfter(card);
  const fresh = await decide(card, event.submitter?.value ?? "approve");
  if (!fresh) return;
  announce(fresh.dataset.said);
  // Not onto a button: whoever presses Enter once more must not decide about a request that they have not read.
  (after ?? document.getElementById("top") ?? fresh).focus({ preventScroll: !byKeyboard });
  look();
});

// Without a bubble, caught on its way down.
queue.addEventListener("toggle", ({ target }) => {
  if (!target.matches(".edit")) return;
  const choose = target.closest(".request").querySelector("[name=choose]");
  // What is being edited is decided by itself.
  if (choose) {
    choose.disabled = target.open;
    if (choose.checked && target.open) choose.click();
  }
  if (target.open) {
    preview(target);
    target.querySelector("textarea").focus({ preventScroll: !byKeyboard });
  }
}, true);

queue.addEventListener("input", ({ target }) => {
  if (target.name === "arguments") preview(target.closest(".edit"));
});

// Only while the focus is in the queue and not in a field: nobody presses j by accident.
queue.addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
  const cards = [...queue.querySelectorAll(".request")];
  cards[cards.indexOf(event.target.closest(".request")) + step]?.focus();
});

/** Bring the cards to what the server's own page says; what has left it is asked for by itself.
 *
 * A card that takes another's place meanwhile, as a decision has it, is newer than the page that was asked for before. */
async function refresh() {
  const ours = [...queue.querySelectorAll(".request")];
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  // Logged out, or no longer an approver: the whole page says so better.
  if (response.redirected || response.status === 403) location.reload();
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const theirs = new Map([...page.querySelectorAll(".request")].map((card) => [card.dataset.id, card]));
  for (const card of ours) {
    const fresh = theirs.get(card.dataset.id) ?? (await gone(card));
    theirs.delete(card.dataset.id);
    if (!fresh || !card.isConnected || fresh.dataset.version === card.dataset.version || card.ariaBusy === "true") continue;
    replace(card, fresh);
    announce(fresh.dataset.said);
  }
  for (const card of theirs.values()) {
    // At the end, so that no button moves from under a hand.
    queue.append(card);
    dress(card);
    announce(`New: ${card.dataset.said}`);
  }
  if (queue.children.length) document.getElementById("empty")?.setAttribute("hidden", "");
  const more = page.querySelector(".more-row");
  if (more && !document.querySelector(".more-row")) queue.after(more);
  count(page);
}

async function gone(card) {
  if (card.dataset.status !== "pending") return null;
  const response = await fetch(card.querySelector("h2 a").href, { headers: { Accept: "application/json" } });
  if (!response.ok) return null;
  const { card: html } = await response.json();
  return new DOMParser().parseFromString(html, "text/html").querySelector(".request");
}

/** Show how many wait: in the bar, and before the title. */
function count(page) {
  const theirs = page.getElementById("waiting");
  const ours = document.getElementById("waiting");
  if (!theirs || !ours) return;
  const shown = theirs.firstChild.textContent;
  ours.firstChild.textContent = shown;
  ours.hidden = theirs.hidden;
  document.title = theirs.hidden ? title : `(${shown}) ${title}`;
}

function onState(state) {
  const connection = document.getElementById("connection");
  if (!connection) return;
  connection.dataset.state = state;
  connection.textContent = state === "live" ? "Live" : "Reconnecting; looking every 10 seconds";
}
