"""`python -m bench.rig.upstream PORT`: a fast fake model provider, and a slow fake search engine, in one process.

The provider speaks OpenAI's chat completions. The model's name says what it does: `chat` answers with text; a
tool's name calls that tool, `list_tasks*8` eight times in one turn, and answers with text once it has the results;
`hold` streams one word and falls silent for HOLD_SECONDS.
The search engine speaks SearXNG's JSON and takes SEARCH_SECONDS for every answer, and SERVICE_SECONDS where the query
begins with `quick`. So long does the tool of an MCP server take, too, which is every POST that is JSON-RPC.
"""

import asyncio
import itertools
import re
import sys
from typing import Any, cast

import orjson
import uvloop

SEARCH_SECONDS = 5.0
SERVICE_SECONDS = 0.02
HOLD_SECONDS = 60.0
WORDS = [f"word{number} " for number in range(16)]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "save_note": {"title": "Milk", "content": "Two litres, from the shop at the corner.", "tags": ["shop"]},
    "list_tasks": {"status": "pending", "limit": 10},
}
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_numbers = itertools.count(1)


def _json(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def _choice(message: dict[str, Any], finish_reason: str | None, *, part: bool = False) -> bytes:
    choice = {"index": 0, "delta" if part else "message": message, "finish_reason": finish_reason}
    kind = "chat.completion.chunk" if part else "chat.completion"
    answer: dict[str, Any] = {"id": "c", "object": kind, "created": 1, "model": "bench", "choices": [choice]}
    if finish_reason:
        answer["usage"] = {"prompt_tokens": 20, "completion_tokens": 16, "total_tokens": 36}
    return orjson.dumps(answer)


def _chunk(data: bytes) -> bytes:
    event = b"data: %b\n\n" % data
    return b"%x\r\n%b\r\n" % (len(event), event)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM_END = _chunk(b"[DONE]") + b"0\r\n\r\n"
TEXT = _json(_choice({"role": "assistant", "content": "".join(WORDS)}, "stop"))
TEXT_STREAM = [
    STREAM_HEAD + _chunk(_choice({"role": "assistant", "content": WORDS[0]}, None, part=True)),
    *(_chunk(_choice({"content": word}, None, part=True)) for word in WORDS[1:]),
    _chunk(_choice({}, "stop", part=True)) + STREAM_END,
]
FOUND = [{"title": "A page", "url": "https://example.com/", "content": "What the page is about."}]
SEARCH = _json(orjson.dumps({"query": "anything", "results": FOUND}))


SEARCH_TOOL = {
    "name": "search",
    "description": "Search the web.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"


def _mcp(request: dict[str, Any]) -> bytes:
    """What an MCP server of one tool answers, which finds what the search engine does: of 2026-07-28, and of the
    revision that an `initialize` asks for."""
    found = {"query": "anything", "results": FOUND}
    initialize = {
        "protocolVersion": request.get("params", {}).get("protocolVersion"),
        "serverInfo": {"name": "bench", "version": "1"},
        "capabilities": {"tools": {}},
    }
    results: dict[str, dict[str, Any]] = {
        "initialize": initialize,
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [SEARCH_TOOL]},
        "tools/call": {
            "content": [{"type": "text", "text": orjson.dumps(found).decode()}], "structuredContent": found
        },
    }  # fmt: skip
    if "id" not in request:
        return ACCEPTED
    result = {"resultType": "complete", **results.get(request["method"], {})}
    return _json(orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


def _calls(model: str) -> list[dict[str, Any]]:
    name, _, times = model.partition("*")
    calls: list[dict[str, Any]] = []
    for index in range(int(times or 1)):
        # No two searches are alike, so that none is answered from the cache.
        given = ARGUMENTS.get(name) or {"query": f"question {next(_numbers)}"}
        function = {"name": name, "arguments": orjson.dumps(given).decode()}
        calls.append({"index": index, "id": f"call_{index}", "type": "function", "function": function})
    return calls


def answer(request: dict[str, Any]) -> list[bytes]:
    """The pieces of the answer to a chat completions request, each to be written on its own."""
    model, streams = request["model"], request.get("stream")
    if model == "chat" or request["messages"][-1]["role"] == "tool":
        return TEXT_STREAM if streams else [TEXT]
    message = {"role": "assistant", "content": None, "tool_calls": _calls(model)}
    if not streams:
        return [_json(_choice(message, "tool_calls"))]
    chunk = _chunk(_choice(message, None, part=True))
    return [STREAM_HEAD + chunk, _chunk(_choice({}, "tool_calls", part=True)) + STREAM_END]


class Upstream(asyncio.Protocol):
    """One client's connection."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = _LENGTH.search(head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            if head.startswith(b"GET"):
                seconds = SERVICE_SECONDS if b"q=quick" in head else SEARCH_SECONDS
                asyncio.get_running_loop().call_later(seconds, self.transport.write, SEARCH)
            else:
                self._answer(orjson.loads(body))

    def _answer(self, request: dict[str, Any]) -> None:
        if "jsonrpc" in request:
            seconds = SERVICE_SECONDS if request["method"] == "tools/call" else 0
            asyncio.get_running_loop().call_later(seconds, self.transport.write, _mcp(request))
        elif request["model"] == "hold":
            self.transport.write(TEXT_STREAM[0])
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self._write, TEXT_STREAM[1:])
        else:
            self._write(answer(request))

    def _write(self, pieces: list[bytes]) -> None:
        self.transport.write(pieces[0])
        if len(pieces) > 1:
            # The next piece leaves in the loop's next turn: packets of their own, as tokens have.
            asyncio.get_running_loop().call_soon(self._write, pieces[1:])


async def main(port: int) -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
