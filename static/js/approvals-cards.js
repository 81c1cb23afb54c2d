// One request's card: sent to the server with a verdict, and replaced by the server's next version of it.

import { notice } from "./dom.js";
import { tick } from "./approvals-times.js";

const LOST = "The server cannot be reached. Whether it was decided shows here once it can.";

/** Give a card that came from the server what only a script can offer. */
export function dress(card) {
  for (const choose of card.querySelectorAll(".choose")) choose.hidden = false;
  tick(card);
}

/** Put a newer version of a card in its place, with what was typed into the old one. */
export function replace(old, fresh) {
  const held = old.contains(document.activeElement) ? document.activeElement : null;
  // A card that grew smaller would move the next one's buttons under the pointer.
  fresh.style.minHeight = `${old.getBoundingClientRect().height}px`;
  const same = old.dataset.seen === fresh.dataset.seen;
  for (const name of same ? ["reason", "arguments"] : ["reason"]) {
    const [from, to] = [old, fresh].map((card) => card.querySelector(`textarea[name=${name}]`));
    if (from && to) to.value = from.value;
  }
  if (same && old.querySelector(".edit")?.open) fresh.querySelector(".edit")?.setAttribute("open", "");
  const [was, is] = [old, fresh].map((card) => card.querySelector("[name=choose]"));
  if (was?.checked && is && same) is.checked = true;
  old.replaceWith(fresh);
  dress(fresh);
  if (held) {
    const again = held.name && fresh.querySelector(`textarea[name=${held.name}]`);
    (again || fresh).focus({ preventScroll: true });
  }
}

/** Send a card's form; returns the card that took its place, or null with the reason said on the card. */
export async function decide(card, verdict, reason = "") {
  const form = card.querySelector("form");
  const sent = new FormData(form);
  sent.set("verdict", verdict);
  // What is folded away is not meant.
  if (!card.querySelector(".edit")?.open) sent.delete("arguments");
  if (reason) sent.set("reason", reason);
  busy(card, true);
  let response;
  let body;
  try {
    response = await fetch(form.action, { method: "POST", body: sent, headers: { Accept: "application/json" } });
    if (response.redirected) location.reload();
    body = await response.json();
  } catch {
    busy(card, false);
    say(card, { detail: response ? "The server did not take it. Reload the page, then try again." : LOST });
    return null;
  }
  busy(card, false);
  if (response.status === 400) {
    say(card, body.refused);
    return null;
  }
  const fresh = new DOMParser().parseFromString(body.card, "text/html").querySelector(".request");
  replace(card, fresh);
  if (!body.refused) return fresh;
  const refusal = notice("bad", body.refused.detail);
  refusal.setAttribute("role", "alert");
  fresh.querySelector("footer").prepend(refusal);
  fresh.focus({ preventScroll: true });
  return null;
}

/** Why the card's last decision was refused; empty when it was not. */
export function troubleOf(card) {
  return (card.querySelector("footer > .notice") ?? card.querySelector(".trouble"))?.textContent.trim() ?? "";
}

/** The next card that still waits for this reader, else the one before; null when none does. */
export function nextAfter(card) {
  const open = [...card.parentElement.querySelectorAll(".request")].filter((each) => each.querySelector("[value=approve]"));
  const at = open.indexOf(card);
  return open[at + 1] ?? open[at - 1] ?? null;
}

/** Tell those who listen instead of look. */
export function announce(words) {
  const announcements = document.getElementById("announcements");
  if (announcements) announcements.textContent = words;
}

function say(card, { field, detail }) {
  const box = card.querySelector("textarea[name=arguments]");
  const wrong = Boolean(field?.startsWith("arguments"));
  card.querySelector(".trouble").textContent = field ? `${field}: ${detail}` : detail;
  box.setAttribute("aria-invalid", String(wrong));
  if (wrong) {
    card.querySelector(".edit").open = true;
    box.focus();
  }
}

function busy(card, on) {
  card.ariaBusy = String(on);
  for (const button of card.querySelectorAll("button")) button.disabled = on;
}
