// A tool call as a card: its tool, its status, and when unfolded everything that the page knows about it.

import { tick } from "./approvals-times.js";
import { element, icon, notice } from "./dom.js";
import { visible } from "./text.js";

const TONES = { success: ["good", "check"], error: ["bad", "cross"], awaiting_approval: ["wait", "wait"] };
const LONGEST = 20_000;

export class CallCard {
  #call = {};
  #words;
  #mark = element("span", { "class": "mark" });
  #name = element("span", { "class": "name" });
  #display = element("span", { "class": "display", "dir": "auto" });
  #state = element("span", { "class": "state" });
  #inside = element("div", { "class": "inside" });
  #onWithdraw;

  /** `onWithdraw` is called with the id of the approval that the call waits for. */
  constructor(words, onWithdraw) {
    this.#words = words;
    this.#onWithdraw = onWithdraw;
    const chevron = icon("chevron");
    chevron.classList.add("chevron");
    const names = element("span", {}, this.#name, this.#display);
    this.element = element(
      "details",
      { "class": "card call" },
      element("summary", {}, this.#mark, names, this.#state, chevron),
      this.#inside,
    );
    this.element.addEventListener("toggle", () => this.#unfold());
  }

  /** Show the call's current state; `call` is the contract's object, with `expires_at` while it waits for a human. */
  update(call) {
    const waited = this.waits;
    this.#call = { ...this.#call, ...call };
    // What is asked for in one's name is shown without being asked; afterwards it folds again.
    if (this.waits !== waited) {
      if (waited && this.#inside.contains(document.activeElement)) this.element.firstElementChild.focus();
      this.element.open = this.waits;
    }
    const { tool, status, error, display, execution_time_ms: took } = this.#call;
    const [tone, symbol] = TONES[status] ?? ["busy", "busy"];
    this.element.dataset.tone = tone;
    this.element.dataset.call = this.#call.id;
    this.#mark.replaceChildren(icon(this.#words.icons[tool] ?? "tool"));
    this.#name.textContent = visible(String(tool)).slice(0, 80);
    this.#display.textContent = visible(display || error?.message || summary(this.#call.input)).slice(0, 300);
    const words = (error && this.#words.errors[error.code]?.title) || this.#words.status[status] || status;
    const pill = element("span", { "class": "pill", "data-tone": tone }, icon(symbol), words);
    this.#state.replaceChildren(pill);
    if (took != null) this.#state.append(element("span", { "class": "took" }, duration(took)));
    this.#unfold();
  }

  /** True once the call's status can no longer change. */
  get settled() {
    return this.#call.status === "success" || this.#call.status === "error";
  }

  /** True while a human has to decide about the call. */
  get waits() {
    return this.#call.status === "awaiting_approval";
  }

  #waiting() {
    const { approval_id: approval, expires_at: expires } = this.#call;
    const words = element("p", {}, "An approver of your tenant decides about it");
    if (expires) {
      const title = `${new Date(expires).toISOString().replace("T", " ").slice(0, 19)} UTC`;
      const left = element("time", { "datetime": expires, "data-left": "", title });
      words.append("; it expires ", left, ", on ", element("time", { "datetime": expires, "data-clock": "", title }));
    }
    words.append(".");
    const withdraw = element("button", { "class": "button", "type": "button" }, "Withdraw");
    withdraw.addEventListener("click", async () => {
      withdraw.disabled = true;
      withdraw.disabled = await this.#onWithdraw(approval);
    });
    const waiting = notice("wait", "It has not run yet", words, withdraw);
    tick(waiting);
    return waiting;
  }

  #unfold() {
    if (!this.element.open) return;
    const { id, input, output, error, status } = this.#call;
    const parts = this.waits ? [this.#waiting()] : [];
    if (error) {
      const { title, meaning } = this.#words.errors[error.code] ?? { title: error.code, meaning: "" };
      const field = error.field ? [" ", element("code", {}, visible(error.field))] : [];
      parts.push(notice("bad", title, `${meaning} `, visible(error.message || ""), ...field));
    }
    if (input !== undefined && input !== null) parts.push(section("Arguments", input));
    if (output !== undefined && output !== null) parts.push(section("Output", output));
    else if (status === "success") parts.push(element("p", { "class": "more" }, "The output is too long to be shown here."));
    const whole = element("a", { href: `/history/${encodeURIComponent(id)}/` }, "Everything recorded of this call");
    parts.push(element("p", { "class": "more" }, whole));
    this.#inside.replaceChildren(...parts);
  }
}

function section(title, value) {
  const text = JSON.stringify(value, null, 2);
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… cut here; the whole of it is in the history` : text;
  const sheet = element("pre", { "class": "sheet", "tabindex": "0", "aria-label": title }, visible(cut));
  return element("div", {}, element("h2", {}, title), sheet);
}

function summary(input) {
  if (input === undefined || input === null) return "";
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
    .slice(0, 300);
}

function duration(milliseconds) {
  if (milliseconds < 1) return "under 1 ms";
  if (milliseconds < 1000) return `${milliseconds} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.floor((milliseconds % 60_000) / 1000)} s`;
}
