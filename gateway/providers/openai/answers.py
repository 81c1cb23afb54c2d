"""Answers of the chat completions API, whole and streamed, as the gateway knows them.

`Answer.extra` holds those of the fields OF_ANSWER, OF_CHOICE and OF_MESSAGE that the server sent, by their names alone.
What a model thought or refused is opaque, one part a field: `{"type": "reasoning_content", "reasoning_content": "…"}`;
a refusal is the answer's text too. Other fields of a call, which some servers want to see again, are its `extra`.
"""

import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import orjson

from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import Answer, OnOpaque, OnText, Opaque, SuggestedCall, Usage
from gateway.providers.openai.requests import FAMILY
from gateway.providers.translation.names import Names
from gateway.providers.transport import streams

OF_ANSWER: dict[str, type] = {"service_tier": str, "system_fingerprint": str}
OF_CHOICE: dict[str, type] = {"logprobs": dict}
OF_MESSAGE: dict[str, type] = {"annotations": list, "audio": dict}
ASIDES: dict[str, type] = {"reasoning_content": str, "reasoning": str, "reasoning_details": list, "refusal": str}
"""What a message says beside its content: thoughts, in the fields of different compatible servers, and refusals."""

_OF_CALL = frozenset({"index", "id", "type", "function", "custom"})
_FINISH_REASONS = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


def read(answer: dict[str, Any], names: Names) -> Answer:
    """The answer out of one body. Raises ProviderGarbled."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProviderGarbled("The provider's answer has no choices.")
    slots = [_Slot.of(entry) for entry in _entries(message.get("tool_calls"))]
    if not slots and isinstance(message.get("function_call"), dict):
        slots = [_Slot.of({"function": message["function_call"]})]
    calls = tuple(slot.call(names) for slot in slots)
    extra: dict[str, Any] = {}
    for holder, wanted in ((answer, OF_ANSWER), (choice, OF_CHOICE), (message, OF_MESSAGE)):
        extra |= _found(holder, wanted)
    return Answer(
        _content(message.get("content")) or streams.text(message.get("refusal")),
        calls,
        _finish_reason(choice.get("finish_reason"), calls),
        _usage(answer.get("usage")),
        opaque=tuple(_aside(name, value) for name, value in _found(message, ASIDES).items()),
        extra=extra,
    )


def _found(holder: dict[str, Any], wanted: dict[str, type]) -> dict[str, Any]:
    """The wanted fields that are there and hold something that can be passed on."""
    if wanted.keys().isdisjoint(holder):
        return {}
    return {
        name: holder[name]
        for name, kind in wanted.items()
        if name in holder and holder[name] and isinstance(holder[name], kind) and _writable(holder[name])
    }


def _writable(value: object) -> bool:
    """Whether it can be written again: what was read may be nested too deep for that."""
    try:
        return isinstance(value, str) or bool(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return False


def _aside(name: str, value: Any) -> Opaque:
    return Opaque(FAMILY, {"type": name, name: value})


def _content(content: object) -> str:
    """Text that is a string or, from some servers, a list of parts."""
    if isinstance(content, list):
        return "".join(streams.text(part.get("text")) for part in content if isinstance(part, dict))
    return streams.text(content)


def _entries(calls: object) -> list[dict[str, Any]]:
    entries = calls or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ProviderGarbled("The tool calls in the provider's answer cannot be read.")
    return entries


def _finish_reason(reason: object, calls: tuple[SuggestedCall, ...]) -> str:
    if isinstance(reason, str) and reason in _FINISH_REASONS:
        return _FINISH_REASONS[reason]
    # Some servers send "stop" beside tool calls, and others have other words for "stop".
    return "tool_calls" if calls else "stop"


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        streams.count(usage.get("prompt_tokens")),
        streams.count(usage.get("completion_tokens")),
        streams.count(_of(usage.get("prompt_tokens_details"), "cached_tokens")),
        streams.count(_of(usage.get("completion_tokens_details"), "reasoning_tokens")),
    )


def _of(details: object, name: str) -> object:
    return details.get(name) if isinstance(details, dict) else None


@dataclass(slots=True)
class _Slot:
    """A tool call as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: dict[str, Any]) -> "_Slot":
        slot = cls()
        slot.add(entry)
        return slot

    def add(self, entry: dict[str, Any]) -> None:
        """Add a whole call or the next piece of one."""
        custom = entry.get("custom")
        function = entry.get("function") or custom
        if not isinstance(function, dict):
            raise ProviderGarbled("A tool call in the provider's answer names no function.")
        self.id = self.id or streams.text(entry.get("id"))
        name = streams.text(function.get("name"))
        if name != self.name:
            self.name += name
        arguments = function.get("input" if function is custom else "arguments")
        if arguments is not None:
            self.arguments.append(arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode())
        for name in entry.keys() - _OF_CALL:
            if _writable(entry[name]):
                self.extra[name] = entry[name]

    def call(self, names: Names) -> SuggestedCall:
        """The call, under its real name and, if the server gave it none, an id of our own."""
        arguments = "".join(self.arguments) if self.arguments else "{}"
        call_id = self.id or f"call_{uuid.uuid4().hex[:24]}"
        name = names.real(self.name)
        return SuggestedCall(
            call_id, name, names.arguments_from_provider(name, arguments), FAMILY if self.extra else None, self.extra
        )


class Pieces:
    """A streamed answer as far as it has come."""

    def __init__(self, on_text: OnText, on_opaque: OnOpaque | None = None):
        self._on_text = on_text
        self._on_opaque = on_opaque
        self._text: list[str] = []
        self._slots: list[_Slot] = []
        self._at: dict[int | str | None, _Slot] = {}
        self._pieces: dict[str, list[Any]] = defaultdict(list)
        self._finish_reason: str | None = None
        self._usage: object = None

    def take(self, event: dict[str, Any]) -> bool:
        """Add one chunk; none is known to be the last, since usage comes after the finish reason."""
        self._usage = event.get("usage") or self._usage
        self._keep(event, OF_ANSWER)
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            self._finish_reason = streams.text(choice.get("finish_reason")) or self._finish_reason
            self._keep(choice, OF_CHOICE)
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
        return False

    def _add(self, delta: dict[str, Any]) -> None:
        for name, value in self._keep(delta, ASIDES).items():
            if self._on_opaque is not None:
                self._on_opaque(_aside(name, value))
        self._keep(delta, OF_MESSAGE)
        text = _content(delta.get("content")) or streams.text(delta.get("refusal"))
        if text:
            self._text.append(text)
            self._on_text(text)
        for entry in _entries(delta.get("tool_calls")):
            self._slot(entry).add(entry)
        if isinstance(delta.get("function_call"), dict):
            self._slot({"index": "function_call"}).add({"function": delta["function_call"]})

    def _keep(self, holder: dict[str, Any], wanted: dict[str, type]) -> dict[str, Any]:
        found = _found(holder, wanted)
        for name, piece in found.items():
            self._pieces[name].append(piece)
        return found

    def _slot(self, entry: dict[str, Any]) -> _Slot:
        """The call that a piece belongs to: by index, unless a server gives every call the same index or none."""
        index, call_id = streams.index(entry.get("index")), streams.text(entry.get("id"))
        slot = self._at.get(index)
        if slot is None or (call_id and slot.id and call_id != slot.id):
            slot = _Slot()
            self._slots.append(slot)
            self._at[index] = slot
        return slot

    def answer(self, names: Names) -> Answer:
        """The answer, now that the stream has ended. Raises ProviderGarbled."""
        if self._finish_reason is None:
            raise ProviderGarbled("The provider's answer ended without a finish reason.")
        calls = tuple(slot.call(names) for slot in self._slots)
        whole = {name: _joined(pieces) for name, pieces in self._pieces.items() if name not in OF_ANSWER}
        whole |= {name: pieces[-1] for name, pieces in self._pieces.items() if name in OF_ANSWER}
        return Answer(
            "".join(self._text),
            calls,
            _finish_reason(self._finish_reason, calls),
            _usage(self._usage),
            opaque=tuple(_aside(name, whole.pop(name)) for name in ASIDES if name in whole),
            extra=whole,
        )


def _joined(pieces: list[Any]) -> Any:
    """The pieces as one: text and lists one after the other, objects field by field."""
    if isinstance(pieces[0], dict):
        names = dict.fromkeys(chain.from_iterable(pieces))
        values = {name: [piece[name] for piece in pieces if piece.get(name) is not None] for name in names}
        return {name: _joined_field(of_name) for name, of_name in values.items() if of_name}
    return "".join(pieces) if isinstance(pieces[0], str) else list(chain.from_iterable(pieces))


def _joined_field(values: list[Any]) -> Any:
    for kind in (str, list):
        if all(isinstance(value, kind) for value in values):
            return _joined(values)
    return values[-1]
