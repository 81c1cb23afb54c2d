// The history: calls that unfold in place, a list that goes on below, and an address that says what is chosen.

import { watch } from "./history-live.js";
import { verifying } from "./history-verify.js";

// --- a call unfolds ------------------------------------------------------------------------------------------------

// Without a bubble, caught on its way down.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches("details.call") && target.open && !target.dataset.loaded) unfold(target);
}, true);

/** Bring a call's inside; what fails is asked for again when it is opened anew. */
export async function unfold(call, seen = "") {
  const inside = call.querySelector(".inside") ?? call;
  inside.setAttribute("aria-busy", "true");
  try {
    await htmx.ajax("GET", `${call.dataset.part}${seen && `?seen=${seen}`}`, { target: inside, swap: "innerHTML" });
  } finally {
    inside.removeAttribute("aria-busy");
  }
}

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const call = detail.target.closest?.("details.call");
  if (call && detail.target.matches(".inside")) call.dataset.loaded = "true";
});

// --- older calls ---------------------------------------------------------------------------------------------------

let pressed = null;

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  const link = detail.elt.closest("a.more");
  pressed = link === document.activeElement ? link?.closest("li").previousElementSibling : null;
});

// After older calls were loaded, the keyboard goes on where they begin.
document.addEventListener("htmx:afterSettle", () => {
  pressed?.nextElementSibling?.querySelector("summary")?.focus();
  pressed = null;
});

// --- filters -------------------------------------------------------------------------------------------------------

// The address has only the chosen filters; days are those of the reader's own time zone.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  const { parameters } = detail;
  if (!detail.elt.closest(".filters")) return;
  const days = parameters.get("since") || parameters.get("until");
  parameters.set("tz", days ? parameters.get("tz") || Intl.DateTimeFormat().resolvedOptions().timeZone : "");
  for (const [name, value] of [...parameters.entries()]) if (value === "") parameters.delete(name);
});

// The fold says how many of its fields narrow the list; the list alone is loaded anew.
const fold = document.querySelector(".filters .fold");
fold?.addEventListener("change", () => {
  const badge = fold.querySelector(".badge");
  const number = [...fold.querySelectorAll("input, select")].filter((field) => field.value !== "").length;
  badge.firstChild.textContent = String(number);
  badge.hidden = number === 0;
});

// --- what went wrong -----------------------------------------------------------------------------------------------

// A session that has ended answers with the log-in page, which belongs in the window and not in the list.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.responseURL.includes("/accounts/login/")) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});

document.addEventListener("htmx:sendError", () => showTrouble("The list could not be loaded: there is no connection."));
document.addEventListener("htmx:responseError", () => showTrouble("The list could not be loaded. Try again in a moment."));
document.addEventListener("htmx:afterSwap", () => showTrouble(""));

function showTrouble(words) {
  const notice = document.querySelector("#trouble");
  if (!notice) return;
  notice.querySelector("span").textContent = words;
  notice.hidden = !words;
}

watch(unfold);
verifying(document);
