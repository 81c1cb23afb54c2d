// Follows one run to its end over as many connections as it takes, missing no event and repeating none.

import { events } from "./sse.js";

const ENDS = new Set(["run.completed", "run.incomplete", "run.failed", "run.cancelled"]);
const PAUSES = [400, 1000, 2000, 4000, 8000];
// A message that never reached the server is given back to its author after this many tries.
const TRIES = 5;

/** The server's own no: `problem` is its RFC 9457 body, `status` its HTTP status, `retryAfter` seconds or null. */
export class Refused extends Error {
  constructor(status, problem, retryAfter) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/**
 * Yields {event, data} of a run: one that `message` begins, or the one that `runId` names.
 * `onConnection` gets "open" or "lost"; `address` is where messages are sent. Throws Refused.
 */
export async function* follow({ message, runId, csrf, onConnection, address = "/api/v1/chat" }) {
  const key = message && uuid();
  let lastId = "";
  for (let failures = 0; ; failures += 1) {
    if (failures > 0) await pause(PAUSES[Math.min(failures, PAUSES.length) - 1]);
    let resting = false;
    try {
      const response = runId ? await resume(runId, lastId) : await begin(address, message, key, csrf);
      onConnection("open");
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        const body = await response.json();
        yield { event: `run.${body.status}`, data: body };
        return;
      }
      for await (const { id, event, data } of events(response.body)) {
        failures = 0;
        resting = event === "run.requires_action";
        lastId = id || lastId;
        const parsed = JSON.parse(data);
        runId ||= parsed.run_id;
        yield { event, data: parsed };
        if (ENDS.has(event)) return;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (!runId && failures + 1 >= TRIES) {
        throw new Refused(0, { title: "The message was not sent", detail: "The server cannot be reached." }, null);
      }
    }
    // The stream of a message ends when a human has to decide; the run's own goes on from there.
    if (resting) failures = -1;
    else onConnection("lost");
  }
}

/** Asks the server to stop a run; the run's own stream says when it has. */
export async function cancel(runId, csrf) {
  await answered(await fetch(`/api/v1/runs/${runId}/cancel`, { method: "POST", headers: { "X-CSRFToken": csrf } }));
}

/** Takes back the request for an approval; the run's own stream says what comes of it. Throws Refused. */
export async function withdraw(approvalId, csrf) {
  const address = `/api/v1/approvals/${encodeURIComponent(approvalId)}/cancel/`;
  await answered(await fetch(address, { method: "POST", headers: { "X-CSRFToken": csrf } }));
}

async function begin(address, message, key, csrf) {
  return answered(
    await fetch(address, {
      method: "POST",
      headers: {
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        "X-CSRFToken": csrf,
      },
      body: JSON.stringify(message),
    }),
  );
}

async function resume(runId, lastId) {
  const headers = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  return answered(await fetch(`/api/v1/runs/${runId}/events`, { headers }));
}

async function answered(response) {
  if (response.ok) return response;
  const type = response.headers.get("Content-Type") || "";
  const problem = type.includes("json") ? await response.json().catch(() => ({})) : {};
  // A proxy without its server speaks no JSON: that is a broken connection and no answer.
  if (response.status >= 502 && response.status <= 504 && !problem.code) throw new Error(`gateway ${response.status}`);
  const seconds = Number(response.headers.get("Retry-After"));
  throw new Refused(response.status, problem, seconds || null);
}

function pause(milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    }
    window.addEventListener("online", done);
  });
}

// crypto.randomUUID is missing where a page comes over plain http from another machine.
function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
