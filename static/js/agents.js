// The test chat beside an agent's form: it asks the agent as the form is now, saved or not.

import { element } from "./dom.js";
import { cancel, follow, Refused, withdraw } from "./follow.js";
import { RunView } from "./run.js";

const find = (id) => document.getElementById(id);

const words = JSON.parse(find("words-data").textContent);
const form = find("agent-form");
const test = find("test-form");
const box = find("test-message");
const csrf = test.elements.csrfmiddlewaretoken.value;
const address = `/api/v1/agents/${encodeURIComponent(test.dataset.slug)}/test/`;

let conversation = null;
/** The run being answered: {runId, stopping}, or null. */
let live = null;

test.addEventListener("submit", (event) => {
  event.preventDefault();
  ask(box.value);
});
// Sent before this script came, the form would only load the page anew.
find("test-send").disabled = false;
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  test.requestSubmit();
});
find("test-stop").addEventListener("click", () => {
  if (!live) return;
  live.stopping = true;
  if (live.runId) cancel(live.runId, csrf).catch(() => say("It could not be stopped. Try again."));
});
find("test-anew").addEventListener("click", () => {
  conversation = null;
  find("test-runs").replaceChildren();
  find("test-anew").hidden = true;
  box.focus();
});

/** The fields of the form, as the API has them. */
function draft() {
  const data = new FormData(form);
  const number = (name) => (data.get(name) === "" ? null : Number(data.get(name)));
  return {
    instructions: data.get("instructions"),
    model: data.get("model").trim() || null,
    max_tier: data.get("max_tier") || null,
    tools: data.get("reach") === "all" ? "all" : data.getAll("tool"),
    pinned_tools: data.get("pinned_tools").split(/\s+/).filter(Boolean),
    on_refused_approval: data.has("on_refused_approval") ? "halt" : "tell",
    on_disconnect: data.has("on_disconnect") ? "cancel" : "continue",
    max_turns: number("max_turns"),
    max_seconds: number("max_seconds"),
    max_run_tokens: number("max_run_tokens"),
    max_run_usd: data.get("max_run_usd") || null,
    tool_seconds: number("tool_seconds"),
    max_result_bytes: number("max_result_bytes"),
    max_offered_tools: number("max_offered_tools"),
  };
}

async function ask(content) {
  if (!content.trim() || live) return;
  const message = { content, stream: true, draft: draft() };
  if (conversation) message.conversation_id = conversation;
  box.value = "";
  const view = new RunView({ question: content, words, onAgain: ask, onWithdraw });
  find("test-runs").append(view.element);
  live = { runId: null, stopping: false };
  busy(true);
  say("Working");
  view.begin();
  try {
    const onConnection = (state) => say(state === "lost" ? "The connection is lost. Trying again." : "Working");
    for await (const { event, data } of follow({ message, csrf, onConnection, address })) {
      if (event === "run.created") began(data);
      view.take(event, data);
      if (view.resting) say(view.resting === "input" ? "Waiting for your answer" : "Waiting for an approval");
      const thread = find("test-thread");
      requestAnimationFrame(() => (thread.scrollTop = thread.scrollHeight));
    }
    find("test-announce").textContent = view.answer.slice(0, 1000);
    say("");
  } catch (error) {
    say("");
    if (!(error instanceof Refused)) throw error;
    box.value ||= content;
    const again = error.status === 401 ? element("a", { href: "/accounts/login/" }, "Log in again") : error.message;
    view.refuse("The message was not taken", again);
  } finally {
    live = null;
    busy(false);
  }
}

function began({ run_id: runId, conversation_id: id }) {
  live.runId = runId;
  conversation = id;
  if (live.stopping) cancel(runId, csrf).catch(() => say("It could not be stopped. Try again."));
}

async function onWithdraw(approvalId) {
  try {
    await withdraw(approvalId, csrf);
    return true;
  } catch (error) {
    say(error instanceof Refused ? error.message : "It could not be withdrawn. Try again.");
    return false;
  }
}

function busy(on) {
  find("test-send").hidden = on;
  find("test-stop").hidden = !on;
  find("test-anew").hidden = on || !conversation;
}

function say(text) {
  find("test-status").textContent = text;
}
