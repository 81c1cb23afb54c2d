// The canvas beside the conversation: what a model drew, in a frame that has an origin of its own.

import { element } from "./dom.js";
import { visible } from "./text.js";

const LOST = "The canvas could not be read. Load the page again.";
/** Where there is room for it beside the thread; canvas.css says the same. */
const WIDE = matchMedia("(min-width: 1101px)");
/** A frame that never ends would hold up the event of a page that has not loaded yet, and the browser's sign of it. */
const loaded = new Promise((resolve) => {
  if (document.readyState === "complete") resolve();
  else addEventListener("load", resolve, { once: true });
});

/**
 * Wire the canvas. `current` answers the id of the conversation that the page shows, or null; `drawn` says whether that
 * one has a canvas. Returns `settled`, which takes each call that has settled.
 */
export function wireCanvas({ csrf, current, drawn }) {
  const [panel, title, versions, close, trouble, place, toggle, bin, dialog] = [
    "canvas", "canvas-title", "canvas-version", "canvas-close", "canvas-trouble", "canvas-frame", "canvas-toggle",
    "canvas-delete", "canvas-ask",
  ].map((id) => document.getElementById(id));
  /** Counts what was asked for, so that a late answer replaces nothing newer. */
  let asked = 0;

  function open(on) {
    panel.hidden = !on;
    panel.parentElement.classList.toggle("canvas-open", on);
    toggle.setAttribute("aria-expanded", String(on));
    if (on) read();
    // A page that is not shown does not run.
    else place.replaceChildren();
  }

  toggle.addEventListener("click", () => {
    open(panel.hidden);
    if (!panel.hidden) close.focus();
  });
  close.addEventListener("click", shut);
  panel.addEventListener("keydown", (event) => event.key === "Escape" && shut());
  versions.addEventListener("change", () => show(Number(versions.value)));

  bin.addEventListener("click", () => {
    dialog.returnValue = "";
    dialog.showModal();
  });
  dialog.addEventListener("close", () => dialog.returnValue === "delete" && away());

  function shut() {
    open(false);
    toggle.focus();
  }

  /** Delete the canvas with all its versions; one that is gone already is as good. */
  async function away() {
    trouble.textContent = "";
    const address = `/api/v1/conversations/${encodeURIComponent(current())}/canvas/`;
    const answer = await fetch(address, { method: "DELETE", headers: { "X-CSRFToken": csrf } }).catch(() => null);
    if (answer?.status === 401) location.reload();
    if (!answer?.ok && answer?.status !== 404) {
      const problem = await answer?.json().catch(() => ({}));
      trouble.textContent = problem?.detail || "The canvas could not be deleted. Try again.";
      return;
    }
    open(false);
    toggle.hidden = true;
    document.getElementById("message").focus();
  }

  /** Read which versions there are, and show the newest. */
  async function read() {
    const listed = await get("");
    if (!listed?.results.length) return;
    versions.replaceChildren(
      ...listed.results.map(({ version }) => element("option", { "value": version }, `Version ${version}`)),
    );
    await show(listed.results[0].version);
  }

  async function show(version) {
    const page = await get(`${version}/`);
    await loaded;
    if (!page || panel.hidden) return;
    const name = visible(page.title).slice(0, 200);
    title.textContent = name;
    versions.value = String(version);
    // A new frame each time: whatever the last one does, it ends with it.
    const frame = { "sandbox": "allow-scripts", "referrerpolicy": "no-referrer", "title": `Canvas: ${name}`, "src": page.view_path };
    place.replaceChildren(element("iframe", frame));
  }

  async function get(path) {
    const mine = (asked += 1);
    trouble.textContent = "";
    const address = `/api/v1/conversations/${encodeURIComponent(current())}/canvas/${path}`;
    const answer = await fetch(address).catch(() => null);
    const body = answer?.ok ? await answer.json().catch(() => null) : null;
    if (mine !== asked) return null;
    if (answer?.status === 401) location.reload();
    if (!body) trouble.textContent = LOST;
    return body;
  }

  toggle.hidden = !drawn;
  if (drawn && WIDE.matches) open(true);

  return {
    settled(call) {
      if (call.tool !== "canvas" || call.status !== "success") return;
      toggle.hidden = false;
      open(true);
    },
  };
}
