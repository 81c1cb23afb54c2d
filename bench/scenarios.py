"""What is asked of Toolgate, of the provider behind it, and of the bare view."""

from dataclasses import dataclass
from typing import Any

import orjson

from bench.rig.load import Plan
from bench.rig.stack import Stack
from bench.rig.upstream import WORDS

CONTENT = "What is on my list, and what did I forget?"
BATCH = 8
COMPATIBLE_PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Scenario:
    """One kind of request: `server` is whose port it goes to, `calls` how many governed calls one request makes."""

    name: str
    title: str
    server: str
    path: str
    body: dict[str, Any]
    expected: str
    first: str = ""
    calls: int = 0

    def plan(
        self,
        stack: Stack,
        concurrency: int,
        seconds: float,
        warm_seconds: float = 0.0,
        times: int = 0,
        process: str = "",
    ) -> Plan:
        """The load on this stack, its members taking turns; on `process` instead of the scenario's own server."""
        port = stack.ports[process or self.server]
        requests = [request_text(port, self.path, self.body, key) for key in stack.keys]
        return Plan(port, requests, concurrency, seconds, warm_seconds, self.expected, self.first, times)


def request_text(port: int, path: str, body: dict[str, Any], key: str, headers: dict[str, str] | None = None) -> str:
    content = orjson.dumps(body).decode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n{content}"
    )


def _chat(name: str, title: str, model: str, calls: int = 0) -> Scenario:
    expected = '"status":"success"' if calls else '"status":"completed"'
    body = {"content": CONTENT, "model": f"openai/{model}"}
    return Scenario(name, title, "web", "/api/v1/chat", body, expected, calls=calls)


def _compatible(name: str, title: str, model: str, calls: int = 0, *, streamed: bool = False) -> Scenario:
    """The same over the API that the official SDKs speak."""
    said = {"model": f"openai/{model}", "messages": [{"role": "user", "content": CONTENT}]}
    if streamed:
        first = f'"content":"{WORDS[0].strip()}'
        return Scenario(name, title, "web", COMPATIBLE_PATH, {**said, "stream": True}, "[DONE]", first)
    expected = '"status":"success"' if calls else '"finish_reason":"stop"'
    return Scenario(name, title, "web", COMPATIBLE_PATH, said, expected, calls=calls)


def _direct(name: str, title: str, expected: str, first: str = "", **more: Any) -> Scenario:
    body = {"model": "chat", "messages": [{"role": "user", "content": CONTENT}], **more}
    return Scenario(name, title, "provider", "/v1/chat/completions", body, expected, first)


CHAT = _chat("chat", "chat without tools", "chat")
TOOL = _chat("tool", "chat with one governed tool call (save_note)", "save_note", calls=1)
LOCAL = _chat("local", "chat with one governed tool call (list_tasks)", "list_tasks", calls=1)
TOOLS = _chat("tools", f"chat with {BATCH} governed tool calls in one turn (list_tasks)", f"list_tasks*{BATCH}", BATCH)
SEARCH = _chat("search", "chat with one slow remote tool call (web_search)", "web_search", calls=1)
STREAM = Scenario(
    "stream",
    "chat without tools, streamed",
    "web",
    "/api/v1/chat",
    {"content": CONTENT, "model": "openai/chat", "stream": True},
    expected="event: run.completed",
    first="event: message.delta",
)
V1_CHAT = _compatible("v1_chat", "/v1/chat/completions without tools", "chat")
V1_TOOL = _compatible("v1_tool", "/v1/chat/completions with one governed tool call (list_tasks)", "list_tasks", 1)
V1_TOOLS = _compatible(
    "v1_tools", f"/v1/chat/completions with {BATCH} governed tool calls in one turn", f"list_tasks*{BATCH}", BATCH
)
V1_STREAM = _compatible("v1_stream", "/v1/chat/completions without tools, streamed", "chat", streamed=True)
DIRECT = _direct("direct", "the provider, asked directly", "word15")
DIRECT_STREAM = _direct("direct_stream", "the provider, streamed directly", "[DONE]", '"content":"word0', stream=True)
# At every concurrency, and with many calls at 16 alone.
AT_EVERY_LEVEL = (V1_CHAT, V1_TOOL, V1_STREAM, CHAT, TOOL, STREAM)
OF_MANY_CALLS = (V1_TOOLS, TOOLS)
VIEW = Scenario("view", "a bare ASGI view", "view", "/", CHAT.body, "completed")
