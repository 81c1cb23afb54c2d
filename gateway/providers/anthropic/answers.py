"""Answers of Anthropic's messages API, whole and streamed, as one Answer."""

import uuid
from collections import defaultdict
from typing import Any

import orjson

from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import Answer, OnOpaque, OnText, Opaque, SuggestedCall, Usage
from gateway.providers.translation.names import Names
from gateway.providers.transport import streams

_FINISH_REASONS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
# Reasons that a client of this API must know, though the other APIs have no term for them.
_OWN_REASONS = frozenset({"pause_turn", "model_context_window_exceeded"})
_OWN_FIELDS = ("container", "context_management", "stop_details")
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})


def read(answer: dict[str, Any], names: Names) -> Answer:
    """The Answer in a message object. Raises ProviderGarbled."""
    content = answer.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise ProviderGarbled("The provider's answer has no content.")
    blocks = [_Block(block) for block in content]
    return _answer(blocks, answer, names)


def _answer(blocks: list["_Block"], message: dict[str, Any], names: Names) -> Answer:
    reason = message.get("stop_reason")
    if not isinstance(reason, str) or not reason:
        raise ProviderGarbled("The provider's answer ended without a stop reason.")
    calls = tuple(block.call(names) for block in blocks if block.kind == "tool_use")
    extra = {name: message[name] for name in _OWN_FIELDS if message.get(name)}
    if reason in _OWN_REASONS:
        extra["stop_reason"] = reason
    return Answer(
        text="".join(block.text() for block in blocks),
        calls=calls,
        finish_reason=_FINISH_REASONS.get(reason) or ("tool_calls" if calls else "stop"),
        usage=_usage(message.get("usage")),
        stop_sequence=streams.text(message.get("stop_sequence")) or None,
        opaque=tuple(part for block in blocks if (part := block.opaque()) is not None),
        extra=extra,
    )


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    cached = streams.count(usage.get("cache_read_input_tokens"))
    written = streams.count(usage.get("cache_creation_input_tokens"))
    details = usage.get("output_tokens_details")
    return Usage(
        input_tokens=streams.count(usage.get("input_tokens")) + cached + written,
        output_tokens=streams.count(usage.get("output_tokens")),
        cached_tokens=cached,
        reasoning_tokens=streams.count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
    )


class _Block:
    """A content block: its start, and the pieces that followed, field by field."""

    def __init__(self, raw: dict[str, Any]):
        self.kind = streams.text(raw.get("type"))
        self._raw = raw
        self._pieces: dict[str, list[str]] = defaultdict(list)
        self._citations: list[Any] = []

    def add(self, delta: dict[str, Any]) -> None:
        """Add the next piece."""
        if delta.get("citation") is not None:
            self._citations.append(delta["citation"])
        for name, piece in delta.items():
            if name != "type" and isinstance(piece, str):
                self._pieces[name].append(piece)

    def _field(self, name: str) -> str:
        return streams.text(self._raw.get(name)) + "".join(self._pieces[name])

    def text(self) -> str:
        """Its text."""
        return self._field("text") if self.kind == "text" else ""

    def call(self, names: Names) -> SuggestedCall:
        """The call, under its real name and, if the server gave it none, an id of our own."""
        call_id = streams.text(self._raw.get("id")) or f"toolu_{uuid.uuid4().hex[:24]}"
        extra = {name: value for name, value in self._raw.items() if name not in _CALL_FIELDS and value is not None}
        name = names.real(streams.text(self._raw.get("name")))
        given = "".join(self._pieces["partial_json"]) or _raw_input(self._raw.get("input"))
        return SuggestedCall(
            call_id, name, names.arguments_from_provider(name, given), FAMILY if extra else None, extra
        )

    def opaque(self) -> Opaque | None:
        """The block as it is, if there is more to it than a call, or text without citations."""
        citations = [*(self._raw.get("citations") or ()), *self._citations]
        if self.kind == "tool_use" or (self.kind == "text" and not (citations and self.text())):
            return None
        raw = self._raw | {name: self._field(name) for name in list(self._pieces) if name != "partial_json"}
        if citations:
            raw["citations"] = citations
        if "input" in raw:
            raw["input"] = _parsed("".join(self._pieces["partial_json"]) or _raw_input(raw["input"]))
        try:
            orjson.dumps(raw)
        except orjson.JSONEncodeError:
            raise ProviderGarbled("The provider's answer is nested too deeply.") from None
        return Opaque(FAMILY, raw)


def _raw_input(given: object) -> str:
    """An input as raw text; it is that already, unless it could be mistaken for other text."""
    return given if isinstance(given, str) else "{}" if given is None else orjson.dumps(given).decode()


def _parsed(given: str) -> Any:
    """The input of a tool that the provider ran; an unreadable one cannot have been run."""
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        return {}


class Pieces:
    """A streamed answer as far as it has come."""

    def __init__(self, on_text: OnText, on_opaque: OnOpaque | None):
        self._on_text = on_text
        self._on_opaque = on_opaque
        self._blocks: list[_Block] = []
        self._open: dict[int | str | None, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._stopped = False

    def take(self, event: dict[str, Any]) -> bool:
        """Add one event; True when it was the last."""
        kind = event.get("type")
        if kind == "content_block_delta":
            self._add(streams.index(event.get("index")), event.get("delta"))
        elif kind == "content_block_start":
            self._start(streams.index(event.get("index")), event.get("content_block"))
        elif kind == "content_block_stop":
            self._stop(streams.index(event.get("index")))
        elif kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_delta":
            delta = event.get("delta")
            self._message |= {name: value for name, value in event.items() if name in _OWN_FIELDS}
            self._message |= delta if isinstance(delta, dict) else {"stop_reason": None}
            self._count(event.get("usage"))
        elif kind == "message_stop":
            for index in list(self._open):
                self._stop(index)
            self._stopped = True
        return self._stopped

    def _start(self, index: int | str | None, raw: object) -> None:
        if not isinstance(raw, dict):
            return
        self._stop(index)
        block = _Block(raw)
        self._blocks.append(block)
        self._open[index] = block
        self._say(block.text())

    def _add(self, index: int | str | None, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        if index not in self._open and delta.get("type") == "text_delta":
            # Some servers leave out the start of a text block.
            self._start(index, {"type": "text"})
        block = self._open.get(index)
        if block is None:
            return
        block.add(delta)
        if block.kind == "text":
            self._say(streams.text(delta.get("text")))

    def _stop(self, index: int | str | None) -> None:
        block = self._open.pop(index, None)
        part = block.opaque() if block is not None else None
        if part is not None and self._on_opaque is not None:
            self._on_opaque(part)

    def _say(self, text: str) -> None:
        if text:
            self._on_text(text)

    def _count(self, usage: object) -> None:
        """Later counts are cumulative and replace earlier ones."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def answer(self, names: Names) -> Answer:
        """The answer, now that the stream has ended. Raises ProviderGarbled."""
        if not self._stopped:
            raise ProviderGarbled("The provider's answer ended before its end was announced.")
        return _answer(self._blocks, self._message | {"usage": self._usage}, names)
