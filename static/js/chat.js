// The chat page: the composer, the thread, and the run that is being answered.

import { wireAttach } from "./attach.js";
import { wireCanvas } from "./canvas.js";
import { wireBeside } from "./beside.js";
import { wire } from "./conversations.js";
import { element } from "./dom.js";
import { cancel, follow, Refused, withdraw } from "./follow.js";
import { isOpen, RunView } from "./run.js";
import { readSide } from "./side.js";

const find = (id) => document.getElementById(id);
const read = (id) => JSON.parse(find(id).textContent);

const words = read("words-data");
const opened = read("thread-data");
const form = find("composer");
const box = find("message");
const thread = find("thread");
const runs = find("runs");
const csrf = form.elements.csrfmiddlewaretoken.value;
const side = readSide(document);
wire({ csrf, current: () => conversation });
const beside = wireBeside({
  csrf,
  current: () => conversation,
  begin(id, title) {
    opens(id);
    side.raise(id, title);
  },
  attach: (file) => attached.add(file),
});
const attached = wireAttach({ upload: beside.upload, say });

const WAITING = { approval: "Waiting for an approval", input: "Waiting for your answer" };

let conversation = opened.conversation;
const canvas = wireCanvas({ csrf, current: () => conversation, drawn: opened.canvas });
/** The run being answered: {runId, stopping}, or null. */
let live = null;

for (const run of opened.runs) {
  const view = add(run.question, run.attachments);
  if (isOpen(run)) answer(view, { runId: run.id });
  else view.restore(run);
}
if (opened.runs.length) scrollDown(true);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (ask(box.value, attached.files())) attached.set([]);
});
// Sent before this script came, the form would only load the page anew.
find("send").disabled = false;

box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

for (const example of document.querySelectorAll("[data-prompt]")) {
  example.addEventListener("click", () => {
    ask(example.dataset.prompt);
    // The button is gone now; on a phone, focus would raise the keyboard over the answer.
    if (matchMedia("(pointer: fine)").matches) box.focus();
  });
}

find("stop").addEventListener("click", async () => {
  if (!live) return;
  say("Stopping");
  live.stopping = true;
  if (live.runId) await stop(live.runId);
});

/** Send a message with these files; false when it cannot be sent now. */
function ask(text, files = []) {
  if (!text.trim()) return false;
  if (live) {
    say("Wait for the answer, or stop it first.");
    return false;
  }
  box.value = "";
  fit();
  const message = { content: text, stream: true };
  if (conversation) message.conversation_id = conversation;
  for (const choice of ["agent", "model"]) {
    if (form.elements[choice]?.value) message[choice] = form.elements[choice].value;
  }
  if (files.length) message.attachments = files.map(({ path, version }) => ({ file: path, version }));
  const taken = files.map((file) => ({ ...file, file_id: file.file_id ?? file.id }));
  answer(add(text, taken), { message });
  return true;
}

function add(question, files = []) {
  find("welcome").hidden = true;
  const onWaiting = () => goesOn(view);
  const view = new RunView({ question, words, onAgain: ask, onWithdraw, onWaiting, attached: files, conversation });
  runs.append(view.element);
  return view;
}

/** Follow a run into its view until it ends. */
async function answer(view, { message, runId }) {
  live = { runId, stopping: false };
  busy(true);
  say("Working");
  view.begin();
  scrollDown(true);
  const onConnection = (state) => {
    if (state === "lost") say("The connection is lost. Trying again.");
    else goesOn(view);
  };
  try {
    for await (const { event, data } of follow({ message, runId, csrf, onConnection })) {
      if (event === "run.created") began(view, data);
      const near = isNearEnd();
      view.take(event, data);
      tell(view, event, data);
      requestAnimationFrame(() => near && scrollDown());
    }
    find("announce").textContent = view.answer.slice(0, 1000);
  } catch (error) {
    failed(view, error, message);
  } finally {
    live = null;
    busy(false);
  }
}

function began(view, { run_id: runId, conversation_id: id }) {
  live.runId = runId;
  if (live.stopping) stop(runId);
  if (id && conversation !== id) opens(id);
  if (conversation) side.raise(conversation, view.question);
}

function opens(id) {
  conversation = id;
  history.replaceState(null, "", `/?c=${encodeURIComponent(id)}`);
  beside.conversation();
}

async function stop(runId) {
  try {
    await cancel(runId, csrf);
  } catch {
    say("It could not be stopped. Try again.");
  }
}

/** Take back what waits for an approval; true when the server took it. */
async function onWithdraw(approvalId) {
  try {
    await withdraw(approvalId, csrf);
    return true;
  } catch (error) {
    say(error instanceof Refused ? error.message : "It could not be withdrawn. Try again.");
    return false;
  }
}

/** Say that a run works, or what it waits for. */
function goesOn(view) {
  say(view.resting ? WAITING[view.resting] : "Working");
}

function tell(view, event, data) {
  if (event === "tool_call.settled") canvas.settled(data);
  if (event === "tool_call.settled") beside.settled(data);
  if (event === "tool_call.running") say(`Running ${data.tool}`);
  else if (event === "tool_call.input_required") say(`${data.tool} asks you`);
  else if (event === "tool_call.awaiting_approval") say(`${data.tool} waits for an approval`);
  else if (event === "run.requires_action") say(WAITING[data.required_action?.type ?? "approval"]);
  else if (["run.completed", "run.incomplete", "run.failed"].includes(event)) say("");
  else if (event === "run.cancelled") say("Stopped");
  else if (event.startsWith("tool_call.")) goesOn(view);
}

function failed(view, error, message) {
  say("");
  if (!(error instanceof Refused)) throw error;
  if (message && !box.value) {
    box.value = message.content;
    attached.set(view.attached);
  }
  fit();
  if (error.status === 401) {
    view.refuse("You are logged out", element("a", { href: "/accounts/login/" }, "Log in again"), " and send it once more.");
  } else {
    // Some refusals say the time themselves.
    const wait = error.retryAfter && !/\d seconds/.test(error.message) ? ` Wait ${error.retryAfter} seconds, then send it again.` : "";
    view.refuse("The message was not taken", error.message + wait);
  }
}

function busy(on) {
  const hadFocus = document.activeElement === find("stop");
  find("send").hidden = on;
  find("stop").hidden = !on;
  if (hadFocus && !on) box.focus();
}

function say(text) {
  find("status").textContent = text;
}

function isNearEnd() {
  return thread.scrollHeight - thread.scrollTop - thread.clientHeight < 120;
}

function scrollDown(now = false) {
  if (now || isNearEnd()) thread.scrollTop = thread.scrollHeight;
  else thread.scrollTo({ top: thread.scrollHeight });
}

// Browsers without field-sizing need the box's height set by hand.
function fit() {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
}
box.addEventListener("input", fit);
