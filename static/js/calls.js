// A tool call as a card: its tool, its status, and when unfolded everything that the page knows about it.

import { tick } from "./approvals-times.js";
import { watchChild } from "./child.js";
import { element, icon, notice } from "./dom.js";
import { visible } from "./text.js";

const TONES = { success: ["good", "check"], error: ["bad", "cross"], awaiting_approval: ["wait", "wait"] };
const LONGEST = 20_000;
// Tools whose calls begin a run, and answer with it.
const RUNNERS = new Set(["subagent", "send_to_session"]);
const BELOW = { requires_action: ["wait", "wait", "Waits for a human"], in_progress: ["busy", "busy", "Works"] };

export class CallCard {
  #call = {};
  #words;
  #mark = element("span", { "class": "mark" });
  #name = element("span", { "class": "name" });
  #display = element("span", { "class": "display", "dir": "auto" });
  #state = element("span", { "class": "state" });
  #inside = element("div", { "class": "inside" });
  #onWithdraw;
  #forms = null;
  // The run that the running call has begun, and what ends looking at it.
  #child = null;
  #unwatch = null;
  #onChild;

  /** `onWithdraw` is called with the id of the approval that the call waits for, `onChild` with this card whenever the run
   * that the call has begun was looked at. */
  constructor(words, onWithdraw, onChild = () => {}) {
    this.#words = words;
    this.#onWithdraw = onWithdraw;
    this.#onChild = onChild;
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
    // What was asked is answered, unless it is said again.
    this.#call = { ...this.#call, questions: null, ...call };
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
    this.#watch();
    const [below, sign, doing] = (this.#unwatch && BELOW[this.#child?.status]) || [tone, symbol, words];
    const pill = this.#asks
      ? element("span", { "class": "pill", "data-tone": "wait" }, icon("wait"), "Waits for your answer")
      : element("span", { "class": "pill", "data-tone": below }, icon(sign), doing);
    this.#state.replaceChildren(pill);
    if (took != null) this.#state.append(element("span", { "class": "took" }, duration(took)));
    this.#unfold();
  }

  /** Show how far the running call is, as its tool says. */
  progress({ progress, total, message }) {
    if (this.settled || this.waits) return;
    const far = total ? `${Math.round((100 * progress) / total)} %` : "";
    this.#display.textContent = visible([message, far].filter(Boolean).join(" · ")).slice(0, 300);
  }

  /** True once the call's status can no longer change. */
  get settled() {
    return this.#call.status === "success" || this.#call.status === "error";
  }

  /** True while a human has to decide about the call, or the reader has to answer it. */
  get waits() {
    return this.#call.status === "awaiting_approval" || this.#asks;
  }

  /** The run that the call has begun, as it was when it was last looked at. */
  get child() {
    return this.#child;
  }

  /** True while a human has to decide about something in the run that the call has begun, or below it. */
  get waitsBelow() {
    return Boolean(this.#unwatch) && this.#child?.status === "requires_action";
  }

  /** Look at the run that the call has begun as long as the call runs. */
  #watch() {
    const { id, run_id: run, status, tool } = this.#call;
    if (status !== "running" || !RUNNERS.has(tool) || !run) {
      this.#unwatch?.();
      this.#unwatch = null;
    } else {
      this.#unwatch ??= watchChild(run, id, (child) => {
        const known = this.#child;
        this.#child = child;
        if (known?.status !== child.status) this.update({});
        this.#onChild(this);
      });
    }
  }

  get #asks() {
    return this.#call.status === "running" && Boolean(this.#call.questions?.length);
  }

  /** The forms come from the server, and answer by themselves; the run's stream says what comes of it. */
  #asking() {
    const ids = this.#call.questions.map((each) => each.id);
    if (this.#forms?.dataset.of !== ids.join(" ")) {
      this.#forms = element("div", { "class": "asking", "data-of": ids.join(" ") });
      for (const each of this.#call.questions) {
        const address = `/questions/${encodeURIComponent(each.id)}/`;
        const link = element("a", { href: address }, "Answer on a page of its own");
        this.#forms.append(
          element("div", { "hx-get": address, "hx-trigger": "load", "hx-swap": "outerHTML" }, element("p", {}, visible(each.message)), link),
        );
      }
      queueMicrotask(() => window.htmx?.process(this.#forms));
    }
    return this.#forms;
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
    const parts = this.#asks ? [this.#asking()] : this.waits ? [this.#waiting()] : [];
    if (error) {
      const { title, meaning } = this.#words.errors[error.code] ?? { title: error.code, meaning: "" };
      const field = error.field ? [" ", element("code", {}, visible(error.field))] : [];
      parts.push(notice("bad", title, `${meaning} `, visible(error.message || ""), ...field));
    }
    if (input !== undefined && input !== null) parts.push(section("Arguments", input));
    if (output !== undefined && output !== null) parts.push(section("Output", output));
    else if (status === "success") parts.push(element("p", { "class": "more" }, "The output is too long to be shown here."));
    const began = RUNNERS.has(this.#call.tool) && (output?.run_id ?? this.#child?.run_id);
    if (began) {
      const link = element("a", { href: `/history/runs/${encodeURIComponent(began)}/` }, "The run that it began");
      const links = element("p", { "class": "more" }, link);
      if (this.#child) {
        const talk = `/?c=${encodeURIComponent(this.#child.conversation_id)}`;
        links.append(" · ", element("a", { href: talk }, "Its conversation"));
      }
      parts.push(links);
    }
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
