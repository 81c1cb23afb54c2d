"""JSON-RPC messages as plain HTTP requests, of either era."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

from tests.people import Person

MODERN, OLD = "2026-07-28", "2025-11-25"
TASKS = "io.modelcontextprotocol/tasks"
ACCEPT = "application/json, text/event-stream"
# The parameter that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Mcp:
    """One person's client; `tasks` declares the tasks extension in each request of 2026-07-28."""

    def __init__(self, url: str, person: Person, revision: str = MODERN, *, tasks: bool = False):
        self.url = f"{url}/mcp"
        self.headers = person.headers | {"Accept": ACCEPT, "MCP-Protocol-Version": revision}
        self.modern = revision == MODERN
        self._extensions = {TASKS: {}} if tasks else {}
        self._last = 0

    def message(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """A request's body and headers."""
        self._last += 1
        headers = dict(self.headers)
        if self.modern:
            envelope = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"extensions": self._extensions},
            }
            params = {**params, "_meta": {**envelope, **params.get("_meta", {})}}
            headers["Mcp-Method"] = method
            name = params.get(_NAMED.get(method, "taskId"))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        return {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}, headers

    def post(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        """Send a request; `headers` are added to its own."""
        body, own = self.message(method, params or {})
        # As ASCII: lone surrogates can be sent as escapes only.
        own["Content-Type"] = "application/json"
        return httpx.post(self.url, content=json.dumps(body), headers=own | headers)

    def heard(self, method: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Every message of the answer's stream, as it comes."""
        body, headers = self.message(method, params)
        with httpx.stream("POST", self.url, json=body, headers=headers) as answer:
            for line in answer.iter_lines():
                if said := line.removeprefix("data:").strip() if line.startswith("data:") else "":
                    yield dict(json.loads(said))

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request: `result` or `error`."""
        return answer(self.post(method, params))

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request that has one."""
        answered = self.ask(method, params)
        assert "result" in answered, answered
        return dict(answered["result"])

    def error(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error of a request that has one."""
        answered = self.ask(method, params)
        assert "error" in answered, answered
        return dict(answered["error"])

    def call(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The result of `tools/call`."""
        return self.result("tools/call", {"name": name, "arguments": arguments or {}, **more})


def answer(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC message of a response, whether it is JSON or the last event of a stream."""
    return messages(response)[-1]


def messages(response: httpx.Response) -> list[dict[str, Any]]:
    """Every message of a response, in order."""
    if response.headers["content-type"].startswith("application/json"):
        return [response.json()]
    lines = [line.removeprefix("data:").strip() for line in response.text.splitlines() if line.startswith("data:")]
    return [httpx.Response(200, text=line).json() for line in lines if line]
