"""A model provider over real HTTP whose every answer a test writes, and a Toolgate that asks it.

A question's first word is its script's name; the replies of a script are given in turn, the last one for ever.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

OPENAI_KEY = "sk-live-6f1c0d93be2a47f58d1e"
ANTHROPIC_KEY = "sk-ant-live-94a7c1d20b8e4c63"
ORIGIN = "https://app.example"
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class Steps(threading.Event):
    """For a reply's `between`: the provider sends one piece more for each `take`."""

    def __init__(self) -> None:
        super().__init__()
        self._allowed = threading.Semaphore(0)

    def take(self) -> None:
        """Have the provider send its next piece."""
        self._allowed.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Return when the next piece may go."""
        return self._allowed.acquire(timeout=timeout)


@dataclass(slots=True)
class Reply:
    """One HTTP answer: sent piece by piece; `gate` is waited for before, `between` before every piece but the first."""

    pieces: list[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    cut: bool = False
    gate: threading.Event | None = None
    between: threading.Event | None = None


@dataclass(slots=True)
class Script:
    """What a question is answered with; `asked` are the bodies that came, `arrived` is set by the first."""

    name: str
    replies: list[Reply] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Return when the model has been asked."""
        assert self.arrived.wait(PATIENCE_SECONDS), "the provider was never asked"


class Upstream:
    """The provider's server; `stack` is a Toolgate whose openai and anthropic providers it is."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        upstream = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                upstream.answer(self)

            def log_message(self, format: str, *values: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.stack: Stack
        self._another_url = ""

    @property
    def another_url(self) -> str:
        """The stack's second web process, on the same database and Valkey; started at first use."""
        self._another_url = self._another_url or self.stack.start_web("another web")
        return self._another_url

    def script(self, *replies: Reply) -> Script:
        """A new script; send a message that begins with its name."""
        made = Script(f"script-{uuid.uuid4().hex}", list(replies))
        self.scripts[made.name] = made
        return made

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Give the next reply of the script that the last question names."""
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        script = self.scripts[_last_question(body).split()[0]]
        number = len(script.asked)
        script.asked.append(body)
        script.arrived.set()
        reply = script.replies[min(number, len(script.replies) - 1)]
        if reply.gate is not None:
            reply.gate.wait()
        try:
            _send(request, reply)
        except (BrokenPipeError, ConnectionResetError):
            request.close_connection = True


def _last_question(body: dict[str, Any]) -> str:
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    texts = []
    for content in said:
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts += [part["text"] for part in parts if part["type"] == "text"]
    return str(texts[-1])


def _send(request: BaseHTTPRequestHandler, reply: Reply) -> None:
    request.send_response(reply.status)
    request.send_header("Content-Type", reply.kind)
    for name, value in reply.headers.items():
        request.send_header(name, value)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    for index, piece in enumerate(reply.pieces):
        if index and reply.between is not None:
            reply.between.wait()
        request.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        request.wfile.flush()
    if reply.cut:
        request.close_connection = True
        request.connection.close()
    else:
        request.wfile.write(b"0\r\n\r\n")


# --- OpenAI's shapes -------------------------------------------------------------------------------------------------
def completion(text: str = "", *calls: tuple[str, str, str], raw: bytes | None = None, **more: Any) -> Reply:
    """A whole chat completion; calls are (id, name, arguments)."""
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    whole = {"id": "c", "object": "chat.completion", "created": int(time.time()), "choices": [choice], "usage": USAGE}
    return Reply([raw or json.dumps(whole).encode()], **more)


def streamed(*deltas: dict[str, Any], finish: str | None = "stop", **more: Any) -> Reply:
    """A streamed chat completion, an event a piece; without `finish` it ends without a finish reason."""
    chunks: list[dict[str, Any]] = [
        {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish is not None:
        chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"id": "c", "choices": [], "usage": USAGE})
    pieces = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return Reply([*pieces, *([b"data: [DONE]\n\n"] if finish is not None else [])], kind="text/event-stream", **more)


def call_delta(index: int, call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A streamed piece of a tool call."""
    return {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}


def failing(status: int, **headers: str) -> Reply:
    """An error as OpenAI words it; its message holds what must never reach a client."""
    error = {"message": f"Incorrect key {OPENAI_KEY} at http://10.1.2.3/v1", "type": "server_error", "code": None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([json.dumps({"error": error}).encode()], status, named)


# --- the Toolgate that asks ------------------------------------------------------------------------------------------
_started: list[Upstream] = []


@contextmanager
def running() -> Iterator[Upstream]:
    """An upstream with its stack; one a process, however many ask for it."""
    if _started:
        yield _started[0]
        return
    upstream = Upstream()
    environment: dict[str, str] = {
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": f"{upstream.url}/v1",
        "ANTHROPIC_API_KEY": ANTHROPIC_KEY,
        "ANTHROPIC_BASE_URL": upstream.url,
        "CORS_ALLOWED_ORIGINS": ORIGIN,
    }
    with Stack(**environment) as upstream.stack:
        _started.append(upstream)
        try:
            yield upstream
        finally:
            _started.clear()


def scripted(script: Script, **more: Callable[[], None] | Any) -> dict[str, Any]:
    """The body of a chat request that asks the script's model."""
    return {"content": f"{script.name} please", "model": "openai/m", **more}
