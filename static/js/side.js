// The conversations at the side: a drawer on a phone, and a list that keeps the latest on top.

import { name, row } from "./conversations.js";

const TITLE = 80;

/** Wire the drawer; returns `raise`, which puts a conversation at the top of the list. */
export function readSide(page) {
  const list = page.getElementById("conversations");
  const toggle = page.querySelector(".side-toggle");
  const side = page.getElementById("side");
  const chat = page.querySelector(".chat");

  function open(on) {
    chat.classList.toggle("side-open", on);
    toggle.setAttribute("aria-expanded", String(on));
    if (on) side.querySelector("a").focus();
  }

  toggle.addEventListener("click", () => open(!chat.classList.contains("side-open")));
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !chat.classList.contains("side-open")) return;
    open(false);
    toggle.focus();
  });
  page.querySelector(".talk").addEventListener("pointerdown", (event) => {
    if (!toggle.contains(event.target)) open(false);
  });

  function raise(id, question) {
    list.querySelector(".none")?.remove();
    let link = list.querySelector(`a[data-id="${CSS.escape(id)}"]`);
    if (!link) {
      const title = question.trim().replace(/\s+/g, " ").slice(0, TITLE);
      link = row(id, title).querySelector("a");
      name(title);
    }
    page.querySelector(".find").elements.c.value = id;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "page");
    list.prepend(link.parentElement);
  }

  return { raise };
}
