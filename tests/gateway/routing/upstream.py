"""A provider of chat completions and embeddings over real HTTP, in a thread: it says which key and model it was asked
with. Its vectors are those of the demo provider: "car" is near "automobile"."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gateway.providers.demo.meaning import vector
from tests.waiting import PATIENCE_SECONDS


@dataclass
class Upstream:
    """`statuses` are what models answer with instead of 200, `cut` those whose stream breaks off after some text.

    `calls` are the tool and arguments that a message with that word is answered with, `usage` what each stream says.
    `asked` has (key, model, body), `listed` the headers of requests for the list.
    """

    url: str = ""
    list_status: int = 200
    models: list[str] = field(default_factory=lambda: ["m1", "m2"])
    statuses: dict[str, int] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    listed: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    received: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    says: str = ""
    calls: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    # A text with one of these words is refused, with all that come with it.
    unembeddable: set[str] = field(default_factory=set)

    @property
    def models_asked(self) -> list[str]:
        """The models that were asked, in order."""
        return [model for _, model, _ in self.asked]

    @property
    def embedded(self) -> list[list[str]]:
        """The texts that vectors were asked of, a list for each request."""
        return [body["input"] for _, _, body in self.asked if "input" in body]

    def vectors(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the body of an answer with vectors, which are three times as long as they need to be."""
        if any(word in text for text in body["input"] for word in self.unembeddable):
            return 400, {"error": {"message": "This text is not for me."}}
        found = [
            {"index": at, "embedding": [3 * part for part in vector(text)]} for at, text in enumerate(body["input"])
        ]
        words = sum(len(text.split()) for text in body["input"])
        return 200, {"object": "list", "data": found[::-1], "usage": {"prompt_tokens": words, "total_tokens": words}}

    def call(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The tool call that the last message asks for, if it is a user's and has one of the words."""
        last = body["messages"][-1]
        found = [call for word, call in self.calls.items() if last["role"] == "user" and word in str(last["content"])]
        return [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in found[:1]
        ]


def _handler(upstream: Upstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            upstream.listed.append(dict(self.headers))
            self._json(upstream.list_status, {"data": [{"id": model} for model in upstream.models]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = body.get("model", "")
            upstream.headers.append(dict(self.headers))
            upstream.asked.append((self.headers.get("Authorization", "").removeprefix("Bearer "), model, body))
            upstream.received.set()
            if model in upstream.silent:
                upstream.release.wait(PATIENCE_SECONDS)
            status = upstream.statuses.get(model, 200)
            if status != 200:
                self._json(status, {"error": {"message": "no"}})
            elif self.path.endswith("/embeddings"):
                self._json(*upstream.vectors(body))
            elif body.get("stream"):
                self._stream(model, upstream.call(body))
            else:
                self._json(200, _whole(f"I am {model}.{upstream.says}"))

        def _json(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, model: str, calls: list[dict[str, Any]]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            delta = {"tool_calls": calls} if calls else {"content": f"I am {model}"}
            self._event({"choices": [{"index": 0, "delta": delta}]})
            if model not in upstream.cut:
                end = ({}, "tool_calls") if calls else ({"content": "."}, "stop")
                self._event({"choices": [{"index": 0, "delta": end[0], "finish_reason": end[1]}]})
                if upstream.usage:
                    self._event({"choices": [], "usage": upstream.usage})
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def _event(self, data: Any) -> None:
            self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def _whole(text: str) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


@contextmanager
def running() -> Iterator[Upstream]:
    """A provider of its own."""
    upstream = Upstream()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(upstream))
    server.daemon_threads = True
    upstream.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        upstream.release.set()
        server.shutdown()
        server.server_close()
