// One run on the page: what was asked, then turn by turn the model's text and its tool calls, then how it ended.

import { attachedTo } from "./attach.js";
import { CallCard } from "./calls.js";
import { element, notice } from "./dom.js";
import { Prose } from "./text.js";

const INCOMPLETE = {
  max_turns: "The model used all the turns that one answer may take.",
  time: "The time that one answer may take was used up.",
  tokens: "The tokens that one answer may use were used up.",
};
const OPEN = new Set(["in_progress", "requires_action"]);

export class RunView {
  #words;
  #body = element("div", { "class": "run" });
  #texts = new Map();
  #cards = new Map();
  #waiting = null;
  #resting = null;
  #waitsFor = "approval";
  // Runs that calls have begun and that wait for humans, as long as their cards have not looked at them since.
  #below = new Set();
  #drawing = 0;
  #onWithdraw;

  /** `onAgain` is called when the reader wants a failed run's question asked once more, with the files `attached` to it
   * in the `conversation`, `onWithdraw` with the id of an approval that is no longer wanted; it answers whether that was
   * taken. `onWaiting` is called when the run begins or ceases to wait without an event of its own. */
  constructor({ question, words, onAgain, onWithdraw, onWaiting = () => {}, attached = [], conversation = null }) {
    this.#words = words;
    this.onWaiting = onWaiting;
    this.#onWithdraw = onWithdraw;
    this.question = question;
    this.onAgain = onAgain;
    const said = element("p", { "class": "said", "dir": "auto" }, question);
    this.attached = attached;
    const taken = attached.length ? [attachedTo(conversation, attached)] : [];
    this.element = element("li", { "class": "run" }, element("span", { "class": "unseen" }, "You wrote"), ...taken, said, this.#body);
  }

  /** Draw a run that the page came with. */
  restore(run) {
    const turns = new Set([...run.turns.map((each) => each.turn), ...run.tool_calls.map((each) => each.turn)]);
    for (const turn of [...turns].sort((a, b) => a - b)) {
      const said = run.turns.find((each) => each.turn === turn)?.text;
      if (said) this.#prose(turn).show(said);
      for (const call of run.tool_calls) if (call.turn === turn) this.#card(call);
    }
    this.#ended(run);
  }

  /** Take one event of the run's stream. */
  take(event, data) {
    if (event === "run.requires_action") this.#rest(data);
    else if (event.startsWith("run.") && event !== "run.created") this.#finish(data);
    else {
      if (event === "message.delta") this.#grow(data.turn, data.text);
      else if (event === "message.restarted") this.#restart(data.turn);
      else if (event === "tool_call.progress") this.#cards.get(data.id)?.progress(data);
      else if (event.startsWith("tool_call.")) this.#card(data);
      if (event === "tool_call.settled") this.#over(data);
      if (this.#resting && (event === "tool_call.running" || !this.#waits)) this.#goOn();
    }
    this.#dots(event !== "message.delta" && this.#silent(event));
  }

  /** What the run waits for while it waits for humans, and for nothing else: "approval" or "input". */
  get resting() {
    return this.#resting && this.#waitsFor;
  }

  get #waits() {
    return this.#below.size > 0 || [...this.#cards.values()].some((card) => card.waits || card.waitsBelow);
  }

  /** Of a call that is over, the run that it began is over too. */
  #over({ output }) {
    this.#below.delete(output?.run_id);
    if ([...this.#cards.values()].every((card) => card.settled)) this.#below.clear();
  }

  /** A card has looked at the run that its call has begun: no event says that this one waits, or goes on. */
  #looked(card) {
    const rested = Boolean(this.#resting);
    this.#below.delete(card.child.run_id);
    const works = [...this.#cards.values()].some((each) => !(each.settled || each.waits || each.waitsBelow));
    if (rested && !this.#waits) this.#goOn();
    else if (!rested && card.waitsBelow && !works) this.#wait("approval");
    if (rested !== Boolean(this.#resting)) {
      this.#dots(!this.#resting && this.#silent(""));
      this.onWaiting();
    }
  }

  /** The whole body says until when each call waits. */
  #rest(body) {
    this.#draw();
    for (const call of body.tool_calls) {
      const asked = body.required_action?.approvals?.find((each) => each.id === call.approval_id);
      // The event before this one had a call's questions.
      if (call.status !== "running") this.#card(asked ? { ...call, expires_at: asked.expires_at } : call);
    }
    for (const each of body.required_action?.approvals ?? []) if (each.path) this.#below.add(each.path[0]);
    this.#wait(body.required_action?.type ?? "approval");
    // Events that are replayed may be about a wait that is over.
    if (!this.#waits) this.#goOn();
  }

  #wait(waitsFor) {
    this.element.setAttribute("aria-busy", "false");
    this.#waitsFor = waitsFor;
    this.#resting ??= this.#waitsFor === "input"
      ? notice("calm", "This answer waits for you", "It goes on by itself once you have answered.")
      : notice(
        "calm",
        "This answer waits for a human",
        "It goes on by itself once somebody has decided, also while this page is closed.",
      );
    this.#body.append(this.#resting);
  }

  #goOn() {
    this.#end();
    this.begin();
  }

  /** From now on the answer grows. */
  begin() {
    this.element.setAttribute("aria-busy", "true");
    this.#dots(true);
  }

  #end() {
    this.#resting?.remove();
    this.#resting = null;
    this.element.setAttribute("aria-busy", "false");
    this.#dots(false);
  }

  #dots(on) {
    if (!on) this.#waiting?.remove();
    else {
      this.#waiting ??= element("div", { "class": "thinking", "aria-hidden": "true" }, element("i"), element("i"), element("i"));
      this.#body.append(this.#waiting);
    }
  }

  /** Say that the server did not take the message. */
  refuse(title, ...rest) {
    this.#end();
    this.#body.append(notice("bad", title, ...rest));
  }

  /** The text of the last turn. */
  get answer() {
    const last = [...this.#texts.keys()].sort((a, b) => a - b).at(-1);
    return last === undefined ? "" : this.#texts.get(last).prose.text;
  }

  #silent(event) {
    if (event.startsWith("run.")) return event === "run.created";
    if (this.#resting) return false;
    // A card that turns says the same as the dots.
    return [...this.#cards.values()].every((card) => card.settled || card.waits);
  }

  #prose(turn) {
    let held = this.#texts.get(turn);
    if (!held) {
      held = { prose: new Prose(), text: "" };
      this.#texts.set(turn, held);
      this.#body.append(held.prose.element);
    }
    return held.prose;
  }

  #grow(turn, text) {
    this.#prose(turn);
    this.#texts.get(turn).text += text;
    this.#drawing ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = 0;
    for (const { prose, text } of this.#texts.values()) if (text && prose.text !== text) prose.show(text);
  }

  #restart(turn) {
    const held = this.#texts.get(turn);
    if (!held) return;
    held.text = "";
    held.prose.show("");
  }

  #card(call) {
    let card = this.#cards.get(call.id);
    if (!card) {
      card = new CallCard(this.#words, this.#onWithdraw, (looked) => this.#looked(looked));
      this.#cards.set(call.id, card);
      this.#body.append(card.element);
    }
    card.update(call);
  }

  /** The whole body is the last word: what the stream left out is filled in from it. */
  #finish(body) {
    this.#draw();
    for (const call of body.tool_calls ?? []) this.#card(call);
    const turn = body.usage?.turns;
    if (body.content && turn && this.#texts.get(turn)?.text !== body.content) this.#prose(turn).show(body.content);
    this.#ended(body);
  }

  #ended({ status, error, incomplete_reason: reason }) {
    this.#end();
    if (status === "failed") {
      const again = element("button", { "class": "button", "type": "button" }, "Ask again");
      again.addEventListener("click", () => this.onAgain(this.question, this.attached));
      const words = element("p", {}, error?.message || "The model did not answer.");
      this.#body.append(notice("bad", "This answer failed", words, again));
    } else if (status === "incomplete") {
      this.#body.append(notice("wait", "This answer is not complete", error?.message || (INCOMPLETE[reason] ?? "")));
    } else if (status === "cancelled") {
      this.#body.append(notice("wait", "Stopped"));
    }
  }
}

/** True while a run may still go on. */
export function isOpen(run) {
  return OPEN.has(run.status);
}
