// The person's conversations: renamed in the list itself, and deleted after a dialog has asked.

import { element, icon } from "./dom.js";

const LOST = "The server cannot be reached. Try again.";

/** A conversation's row for the list; the server draws the same. */
export function row(id, title) {
  const own = `conversation-${id}`;
  const link = element("a", { "href": `/?c=${encodeURIComponent(id)}`, "data-id": id, "id": own, "dir": "auto" }, title);
  // Described by the title, and not called by it: a conversation may be called "Send".
  const names = { "aria-haspopup": "true", "aria-label": "More actions", "aria-describedby": own };
  return element("li", {}, link, element("button", { "class": "row-actions", "type": "button", ...names }, icon("more")));
}

/** Wire the list's buttons. `current` answers the id of the conversation that the page shows, or null. */
export function wire({ csrf, current }) {
  const [list, menu, dialog, trouble] = ["conversations", "row-menu", "delete", "side-trouble"].map((id) =>
    document.getElementById(id),
  );
  let chosen = null;

  async function send(id, method, body, { verb = "", then = () => {} } = {}) {
    trouble.textContent = "";
    const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf };
    const address = `/api/v1/conversations/${encodeURIComponent(id)}/${verb}`;
    const response = await fetch(address, { method, headers, body: body && JSON.stringify(body) }).catch(() => null);
    if (response?.ok) {
      then(response);
      return "";
    }
    if (response?.status === 401) location.reload();
    const problem = await response?.json().catch(() => ({}));
    return problem?.detail || (response ? `The server answered ${response.status}.` : LOST);
  }

  list.addEventListener("click", ({ target }) => {
    const button = target.closest(".row-actions");
    if (!button) return;
    chosen = button.parentElement;
    menu.showPopover();
    const [at, size] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
    const below = at.bottom + size.height + 8 < innerHeight;
    menu.style.top = `${below ? at.bottom + 4 : at.top - size.height - 4}px`;
    menu.style.left = `${Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8))}px`;
    menu.querySelector("button").focus();
  });

  menu.addEventListener("click", ({ target }) => {
    const verb = target.closest("[data-do]")?.dataset.do;
    menu.hidePopover();
    if (verb === "rename") rename(chosen);
    else if (verb === "branch") branch(chosen);
    else if (verb === "delete") ask(chosen);
  });

  menu.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const other = document.activeElement.nextElementSibling ?? document.activeElement.previousElementSibling;
    other?.focus();
  });

  async function branch(item) {
    const open = async (response) => location.assign(`/?c=${encodeURIComponent((await response.json()).id)}`);
    trouble.textContent = await send(item.querySelector("a").dataset.id, "POST", {}, { verb: "branch/", then: open });
  }

  function rename(item) {
    const link = item.querySelector("a");
    const box = element("input", { "class": "input", "name": "title", "maxlength": "200", "aria-label": "New title", "dir": "auto" });
    const form = element("form", { "class": "rename" }, box);
    box.value = link.textContent;
    item.classList.add("renaming");
    item.append(form);
    box.focus();
    box.select();
    let over = false;

    function close() {
      over = true;
      const focused = form.contains(document.activeElement);
      item.classList.remove("renaming");
      form.remove();
      if (focused) link.focus();
    }

    async function save() {
      const title = box.value.trim();
      if (over || box.readOnly) return;
      if (!title || title === link.textContent) {
        close();
        return;
      }
      box.readOnly = true;
      const wrong = await send(link.dataset.id, "PATCH", { title });
      box.readOnly = false;
      trouble.textContent = wrong && `It could not be renamed. ${wrong}`;
      box.setAttribute("aria-invalid", String(Boolean(wrong)));
      if (wrong) return;
      link.textContent = title;
      if (link.dataset.id === current()) name(title);
      close();
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      save();
    });
    box.addEventListener("blur", save);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      // The drawer that the list is in on a phone stays open.
      event.stopPropagation();
      close();
    });
  }

  function ask(item) {
    dialog.querySelector(".name").textContent = item.querySelector("a").textContent;
    dialog.querySelector(".trouble").textContent = "";
    dialog.returnValue = "keep";
    dialog.showModal();
  }

  dialog.addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "delete") return;
    event.preventDefault();
    const { id } = chosen.querySelector("a").dataset;
    const wrong = await send(id, "DELETE");
    if (wrong) {
      dialog.querySelector(".trouble").textContent = wrong;
      return;
    }
    dialog.close("deleted");
    if (id === current()) {
      location.assign("/");
      return;
    }
    const next = chosen.nextElementSibling ?? chosen.previousElementSibling;
    chosen.remove();
    (next?.querySelector("a") ?? document.querySelector(".side .button")).focus();
  });
}

/** Say what the page shows: in its heading and its title. */
export function name(title) {
  document.getElementById("title").textContent = title;
  document.title = `${title} · Toolgate`;
}
