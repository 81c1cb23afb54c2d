// Several requests at once: chosen, then decided one by one with one reason, and what failed is said.

import { announce, decide, troubleOf } from "./approvals-cards.js";
import { element } from "./dom.js";

/** Wire the boxes that choose, and the bar at the foot of the page, which is there only while something is chosen. */
export function bulk(queue) {
  const template = document.getElementById("bulk");
  if (!template) return;
  const bar = template.content.firstElementChild;
  const [form, report, count] = ["form", ".report", ".count"].map((each) => bar.querySelector(each));
  const all = document.getElementById("choose-all");
  const boxes = () => [...queue.querySelectorAll("[name=choose]:enabled")];
  const chosen = () => boxes().filter((box) => box.checked);

  function show() {
    const number = chosen().length;
    count.textContent = number === 1 ? "1 request chosen" : `${number} requests chosen`;
    form.hidden = number === 0;
    if (number === 0 && !report.childElementCount) bar.remove();
    else if (!bar.isConnected) template.after(bar);
    all.hidden = boxes().length < 2;
    const box = all.querySelector("input");
    box.checked = number > 0 && number === boxes().length;
    box.indeterminate = number > 0 && !box.checked;
  }

  function choose(on) {
    for (const box of boxes()) box.checked = on;
    report.replaceChildren();
    show();
  }

  queue.addEventListener("change", ({ target }) => {
    if (target.name !== "choose") return;
    report.replaceChildren();
    show();
  });
  new MutationObserver(show).observe(queue, { childList: true });
  all.addEventListener("change", ({ target }) => choose(target.checked));
  form.addEventListener("reset", () => {
    choose(false);
    queue.querySelector(".request")?.focus();
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const verdict = event.submitter?.value ?? "deny";
    const reason = form.querySelector("textarea");
    const buttons = form.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    const failed = [];
    let done = 0;
    for (const id of chosen().map((box) => box.value)) {
      const card = () => document.getElementById(`request-${id}`);
      if (await decide(card(), verdict, reason.value)) done += 1;
      else failed.push(card());
    }
    for (const button of buttons) button.disabled = false;
    reason.value = "";
    const words = `${done} ${verdict === "deny" ? "denied" : "approved"}${failed.length ? `, ${failed.length} not:` : "."}`;
    const why = failed.map((card) => element("li", {}, `${card.querySelector("h2").textContent}: ${troubleOf(card)}`));
    if (why.length) report.replaceChildren(element("strong", {}, words), element("ul", {}, ...why));
    announce(words);
    show();
    (why.length ? bar : document.getElementById("top")).focus({ preventScroll: true });
  });
  show();
}
