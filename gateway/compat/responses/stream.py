"""A streamed response: the events of its items one after the other, and the whole response in the last event."""

from typing import Any

import orjson

from gateway.compat.interface import Reply
from gateway.compat.responses import answers
from gateway.compat.responses.answers import Item
from gateway.providers.interface import Opaque
from gateway.runs.prompting.client_request import ClientRequest

_KEEP_ALIVE = b": keep-alive\n\n"
# Some clients treat these as line ends; inside of JSON they occur in strings only.
_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
# What OpenAI calls our errors; others keep the name that they have here.
_CODES = {429: "rate_limit_exceeded"}


class EventWriter:
    """Writes one streamed response; see `StreamWriter`. One item is open at a time: `_open`, as far as it was said."""

    def __init__(self, *, id: str, created: int, model: str, request: ClientRequest):
        self._run = id
        self._response = answers.response(id, created, model, request.echo)
        self._number = 0
        self._items: dict[str, Item] = {}
        self._refusing: set[int] = set()
        self._open: _Open | None = None

    def begin(self) -> bytes:
        """The response as it begins."""
        return self._lifecycle("created", self._response) + self._lifecycle("in_progress", self._response)

    def opaque(self, turn: int, part: Opaque) -> bytes:
        """A piece of what was thought; nothing for what cannot be read."""
        if answers.is_refusal(part):
            self._refusing.add(turn)
            return b""
        thought = answers.thought(part)
        return self._say(answers.reasoning(self._run, turn, None), "reasoning_text", thought) if thought else b""

    def text(self, turn: int, text: str) -> bytes:
        """The next piece of a turn's message."""
        kind = "refusal" if turn in self._refusing else "output_text"
        return self._say(answers.message(self._run, turn, None), kind, text) if text else b""

    def call(self, turn: int, body: dict[str, Any]) -> bytes:
        """A managed call that is settled, from beginning to end."""
        return self._finished(answers.managed(body))

    def keep_alive(self) -> bytes:
        """A comment."""
        return _KEEP_ALIVE

    def end(self, reply: Reply) -> bytes:
        """All that is left to say, and the whole response with its items in the order in which they were streamed."""
        whole = answers.body(reply)
        events = [self._finished(item) for item in whole["output"]] + [self._close()]
        final = {item["id"]: item for item in whole["output"]}
        whole["output"] = [final.get(item_id, item) for item_id, item in self._items.items()]
        kind = "incomplete" if whole["status"] == "incomplete" else "completed"
        return b"".join([*events, self._lifecycle(kind, whole)])

    def error(self, status: int, code: str, message: str) -> bytes:
        """The response as far as it came, and why it ended."""
        failed = {**self._response, "status": "failed", "error": {"code": _CODES.get(status, code), "message": message}}
        events = self._close()
        return events + self._lifecycle("failed", {**failed, "output": list(self._items.values())})

    # --- items -------------------------------------------------------------------------------------------------------
    def _say(self, begun: Item, kind: str, text: str) -> bytes:
        """A piece of an item that has text, which is opened first if it is new; nothing once it is closed."""
        events = b""
        if self._open is None or self._open.item["id"] != begun["id"]:
            if begun["id"] in self._items:
                return b""
            events = self._close() + self._added(begun)
            self._open = _Open(begun, kind, len(self._items) - 1)
            events += self._event("response.content_part.added", **self._open.place, part=_part(kind, ""))
        self._open.said.append(text)
        more: Item = {"logprobs": []} if kind == "output_text" else {}
        return events + self._event(f"response.{kind}.delta", **self._open.place, delta=text, **more)

    def _close(self, final: Item | None = None) -> bytes:
        """The end of the item that is open; `final` is what it came to, where that is known."""
        if self._open is None:
            return b""
        held, self._open = self._open, None
        text = "".join(held.said)
        part = _part(held.kind, text) if final is None else final["content"][0]
        name = "refusal" if held.kind == "refusal" else "text"
        item = {**held.item, "status": "completed", "content": [part]} if final is None else final
        more: Item = {"logprobs": []} if held.kind == "output_text" else {}
        self._items[item["id"]] = item
        return (
            self._event(f"response.{held.kind}.done", **held.place, **{name: part.get(name, text)}, **more)
            + self._event("response.content_part.done", **held.place, part=part)
            + self._event("response.output_item.done", output_index=held.index, item=item)
        )

    def _finished(self, item: Item) -> bytes:
        """Whatever of a finished item has not been written."""
        if self._open is not None and self._open.item["id"] == item["id"]:
            return self._rest(self._open, item) + self._close(item)
        if item["id"] in self._items:
            return b""
        if item["type"] in ("message", "reasoning"):
            part = item["content"][0]
            begun = {**item, "status": "in_progress", "content": []}
            return self._say(begun, part["type"], _text(part)) + self._close(item)
        events = self._close() + self._added({**item, **_BEGUN.get(item["type"], {})})
        index = len(self._items) - 1
        place = {"item_id": item["id"], "output_index": index}
        for name, fields in _between(item):
            events += self._event(name, **place, **fields)
        self._items[item["id"]] = item
        return events + self._event("response.output_item.done", output_index=index, item=item)

    def _rest(self, held: "_Open", item: Item) -> bytes:
        """What of an open item's text has not been written; all of it, where something else was."""
        written, text = "".join(held.said), _text(item["content"][0])
        if written == text:
            return b""
        return self._say(held.item, held.kind, text.removeprefix(written))

    def _added(self, item: Item) -> bytes:
        self._items[item["id"]] = item
        return self._event("response.output_item.added", output_index=len(self._items) - 1, item=item)

    # --- events ------------------------------------------------------------------------------------------------------
    def _lifecycle(self, kind: str, response: dict[str, Any]) -> bytes:
        return self._event(f"response.{kind}", response=response)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = orjson.dumps({"type": kind, "sequence_number": self._number, **fields})
        self._number += 1
        for raw, escaped in _LINE_ENDS:
            data = data.replace(raw, escaped)
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


class _Open:
    """An item whose text is still coming, at its index of the output."""

    def __init__(self, item: Item, kind: str, index: int):
        self.item = item
        self.kind = kind
        self.index = index
        self.said: list[str] = []

    @property
    def place(self) -> dict[str, Any]:
        """Where its content is."""
        return {"item_id": self.item["id"], "output_index": self.index, "content_index": 0}


# Items that show at once begin without what they came to.
_BEGUN: dict[str, Item] = {
    "mcp_call": {"status": "in_progress", "arguments": "", "output": None, "error": None},
    "function_call": {"status": "in_progress", "arguments": ""},
    "custom_tool_call": {"status": "in_progress", "input": ""},
}


def _between(item: Item) -> list[tuple[str, dict[str, Any]]]:
    """The events of an item without text, between its beginning and its end."""
    kind = item["type"]
    if kind == "mcp_call":
        ended = "failed" if item["status"] == "failed" else "completed"
        arguments = item["arguments"]
        return [
            ("response.mcp_call.in_progress", {}),
            ("response.mcp_call_arguments.delta", {"delta": arguments}),
            ("response.mcp_call_arguments.done", {"arguments": arguments}),
            (f"response.mcp_call.{ended}", {}),
        ]
    if kind == "function_call":
        name, given, more = "function_call_arguments", item["arguments"], {"name": item["name"]}
        return [
            (f"response.{name}.delta", {"delta": given}),
            (f"response.{name}.done", {"arguments": given, **more}),
        ]
    if kind == "custom_tool_call":
        name, given = "custom_tool_call_input", item["input"]
        return [(f"response.{name}.delta", {"delta": given}), (f"response.{name}.done", {"input": given})]
    return []


def _part(kind: str, text: str) -> Item:
    return {"type": kind, "text": text} if kind == "reasoning_text" else answers.part(kind, text)


def _text(part: Item) -> str:
    text: str = part["refusal"] if part["type"] == "refusal" else part["text"]
    return text
