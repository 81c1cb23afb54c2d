// Several requests at once: chosen, then decided one by one with one reason, and what failed is said.

import { announce, decide, troubleOf } from "./approvals-cards.js";
import { element } from "./dom.js";

/** Wire the bar at the foot of the page, which is there only while something is chosen. */
export function bulk(queue) {
  const bar = document.getElementById("bulk");
  if (!bar) return;
  const form = document.getElementById("bulk-form");
  const report = document.getElementById("bulk-report");
  const all = document.getElementById("choose-all");
  const boxes = () => [...queue.querySelectorAll("[name=choose]:enabled")];
  const chosen = () => boxes().filter((box) => box.checked);

  function show() {
    const number = chosen().length;
    document.getElementById("bulk-count").textContent = number === 1 ? "1 request chosen" : `${number} requests chosen`;
    form.hidden = number === 0;
    bar.hidden = number === 0 && !report.childElementCount;
    all.hidden = boxes().length < 2;
    const box = all.querySelector("input");
    box.checked = number > 0 && number === boxes().length;
    box.indeterminate = number > 0 && !box.checked;
  }

  queue.addEventListener("change", ({ target }) => {
    if (target.name !== "choose") return;
    report.replaceChildren();
    show();
  });
  queue.addEventListener("replaced", show);
  new MutationObserver(show).observe(queue, { childList: true });
  all.addEventListener("change", ({ target }) => {
    for (const box of boxes()) box.checked = target.checked;
    report.replaceChildren();
    show();
  });
  document.getElementById("bulk-none").addEventListener("click", () => {
    for (const box of chosen()) box.checked = false;
    show();
    queue.querySelector(".request")?.focus();
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const verdict = event.submitter?.value ?? "deny";
    const reason = document.getElementById("bulk-reason").value;
    const buttons = form.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    const failed = [];
    let done = 0;
    for (const id of chosen().map((box) => box.value)) {
      const card = document.getElementById(`request-${id}`);
      if (await decide(card, verdict, reason)) done += 1;
      else failed.push(document.getElementById(`request-${id}`));
    }
    for (const button of buttons) button.disabled = false;
    document.getElementById("bulk-reason").value = "";
    const words = `${done} ${verdict === "deny" ? "denied" : "approved"}${failed.length ? `, ${failed.length} not:` : "."}`;
    const why = failed.map((card) => element("li", {}, `${card.querySelector("h2").textContent}: ${troubleOf(card)}`));
    report.replaceChildren(element("strong", {}, words), ...(why.length ? [element("ul", {}, ...why)] : []));
    announce(words);
    show();
    bar.tabIndex = -1;
    bar.focus({ preventScroll: true });
  });
  show();
}
