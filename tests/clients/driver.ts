// Drives a Toolgate with a client that is generated from its OpenAPI document: a chat, a stream, an approval.
import createClient from "openapi-fetch";
import type { components, paths } from "./toolgate.js";

type StreamEvent = components["schemas"]["StreamEvent"];

declare const process: { env: Record<string, string>; exitCode?: number };

// Answers that are not streamed.
const client = (key: string) =>
  createClient<paths, "application/json" | "application/problem+json">({ baseUrl: process.env.TOOLGATE_URL, headers: { Authorization: `Bearer ${key}` } });
const alice = client(process.env.ALICE_KEY);
const carol = client(process.env.CAROL_KEY);
const say = (step: string, seen: unknown) => console.log(JSON.stringify({ step, seen }));

/** The events of a stream, each with its data read: `event` tells which they are. */
async function* events(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (held + decoder.decode(value, { stream: true })).split("\n\n");
    held = blocks.pop() ?? "";
    for (const block of blocks.filter((each) => !each.startsWith(":"))) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      );
      yield { id: fields.id, event: fields.event, data: JSON.parse(fields.data) } as StreamEvent;
    }
  }
}

async function chat() {
  const { data, error } = await alice.POST("/api/v1/chat", {
    body: { content: 'call: save_note {"title": "Milk", "content": "Two litres"}' },
  });
  if (error) throw new Error(`${error.code}: ${error.detail}`);
  say("chat", { status: data.status, calls: data.tool_calls.map((call) => [call.tool, call.status]) });
  const refused = await alice.POST("/api/v1/chat", { body: { content: "Hello", agent: "nobody" } });
  say("problem", { status: refused.response.status, code: refused.error?.code });
}

async function stream() {
  const { data } = await alice.POST("/api/v1/chat", {
    body: { content: 'call: list_tasks {"status": "all"}', stream: true },
    parseAs: "stream",
  });
  const names: string[] = [];
  let text = "";
  for await (const event of events(data as ReadableStream<Uint8Array>)) {
    names.push(event.event);
    // Each branch knows the type of its data.
    if (event.event === "message.delta") text += event.data.text;
    else if (event.event === "tool_call.settled") say("settled", [event.data.tool, event.data.execution_time_ms !== null]);
    else if (event.event === "run.completed") say("usage", [event.data.usage.turns, event.data.content.length > 0]);
  }
  say("stream", { names: [...new Set(names)], text: text.length > 0 });
}

async function approval() {
  const asked = await alice.POST("/api/v1/chat", {
    body: { content: 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}' },
  });
  const waiting = asked.data?.required_action?.approvals[0];
  if (asked.response.status !== 202 || !waiting) throw new Error("nothing waits");
  const listed = await carol.GET("/api/v1/approvals/", { params: { query: { status: "pending" } } });
  const found = listed.data?.results.find((each) => each.id === waiting.id);
  if (!found) throw new Error("the queue does not have it");
  say("waiting", [found.tool, found.status, found.decidable]);
  const path = { id: found.id };
  // A document that has `seen` says what was seen of the request.
  const seen = "params_hash" in found ? { seen: found.params_hash } : {};
  const body = { reason: "fine", ...seen } as components["schemas"]["ApproveRequest"];
  const decided = await carol.POST("/api/v1/approvals/{id}/approve/", { params: { path }, body });
  say("approved", [decided.data?.status, decided.data?.decisions.map((each) => each.verdict)]);
  const again = await carol.POST("/api/v1/approvals/{id}/approve/", { params: { path }, body });
  say("again", [again.response.status, again.error?.code]);
  const followed = await alice.GET("/api/v1/runs/{run_id}/events", {
    params: { path: { run_id: asked.data!.run_id } },
    parseAs: "stream",
  });
  for await (const event of events(followed.data as unknown as ReadableStream<Uint8Array>)) {
    if (event.event === "run.completed") say("ended", event.data.tool_calls.map((call) => [call.tool, call.status]));
  }
}

await chat();
await stream();
await approval();
