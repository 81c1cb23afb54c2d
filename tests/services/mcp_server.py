"""An MCP server that a test writes, in either kind of revision, and what it was asked."""

import json
import threading
from collections.abc import Callable
from typing import Any

from tests.services.api import Api, Asked, Reply

MODERN, OLDER = "2026-07-28", "2025-11-25"
ECHO = {
    "name": "echo",
    "description": "Says a text again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
Result = dict[str, Any]


def text(said: str, **more: Any) -> Result:
    """A result with one block of text."""
    return {"content": [{"type": "text", "text": said}], **more}


class Error(Exception):
    """A JSON-RPC error that a handler answers with."""

    def __init__(self, code: int, message: str, data: Any = None, status: int = 200):
        super().__init__(message)
        self.body = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.status = status


class Server:
    """Speaks one revision at `path` of an API; `tools` is what it lists, `calls` are the `tools/call` that came.

    A handler may return a Reply, to answer in its own way.
    """

    def __init__(self, api: Api, revision: str = MODERN, path: str = "/mcp"):
        self.api, self.revision, self.path = api, revision, path
        self.tools: list[Any] = [ECHO]
        self.instructions: str | None = None
        self.capabilities: dict[str, Any] = {"tools": {}}
        self.sessions: set[str] = set()
        self.messages: list[dict[str, Any]] = []
        self.call: Callable[[dict[str, Any], Asked], Result | Reply] = lambda params, asked: text(
            str(params["arguments"].get("text"))
        )
        self.methods: dict[str, Callable[[dict[str, Any]], Result]] = {}
        self._lock = threading.Lock()
        api.on(path, self._reply)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The parameters of the calls."""
        return [each["params"] for each in self.of("tools/call")]

    def of(self, method: str) -> list[dict[str, Any]]:
        """The messages of a method."""
        return [each for each in self.messages if each.get("method") == method]

    def _reply(self, asked: Asked) -> Reply:
        if asked.method != "POST":
            return Reply(405)
        message = asked.json
        with self._lock:
            self.messages.append(message)
        if "id" not in message or "method" not in message:
            return Reply(202, b"")
        try:
            result = self._result(message, asked)
        except Error as error:
            return answered(message["id"], error=error.body, status=error.status)
        if isinstance(result, Reply):
            return result
        headers = {}
        if message["method"] == "initialize":
            with self._lock:
                session = f"session-{len(self.sessions) + 1}"
                self.sessions.add(session)
            headers["Mcp-Session-Id"] = session
        elif self.revision == MODERN:
            result = {"resultType": "complete", **result}
        return answered(message["id"], result, headers=headers)

    def _result(self, message: dict[str, Any], asked: Asked) -> Result | Reply:
        method, params = message["method"], message.get("params", {})
        about: Result = {"capabilities": self.capabilities, "serverInfo": {"name": "fake", "version": "1"}}
        if self.instructions:
            about["instructions"] = self.instructions
        if method == "server/discover":
            if self.revision != MODERN:
                raise Error(-32600, "Bad Request: Server not initialized", status=400)
            return {"supportedVersions": [MODERN], **about}
        if method == "initialize":
            if self.revision == MODERN:
                raise Error(-32022, "Unsupported protocol version", {"supported": [MODERN]}, 400)
            return {"protocolVersion": self.revision, **about}
        if self.revision != MODERN and asked.headers.get("mcp-session-id") not in self.sessions:
            raise Error(-32001, "Session not found", status=404)
        if method in self.methods:
            return self.methods[method](params)
        if method == "tools/list":
            return {"tools": self.tools}
        if method == "tools/call":
            return self.call(params, asked)
        raise Error(-32601, "Method not found", status=404 if self.revision == MODERN else 200)


def answered(
    number: Any, result: Any = None, *, error: Any = None, status: int = 200, headers: dict[str, str] | None = None
) -> Reply:
    """A JSON-RPC response."""
    body = {"jsonrpc": "2.0", "id": number} | ({"result": result} if error is None else {"error": error})
    return Reply(status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})


def stream(write: Callable[[Callable[[Any], None], Any], None]) -> Reply:
    """Events that `write(send, handler)` sends: each a message, or text as it is."""

    def events(handler: Any) -> None:
        def send(message: Any) -> None:
            said = message if isinstance(message, str) else f"event: message\ndata: {json.dumps(message)}\n\n"
            handler.wfile.write(said.encode())
            handler.wfile.flush()

        write(send, handler)

    return Reply(200, headers={"Content-Type": "text/event-stream"}, write=events)
