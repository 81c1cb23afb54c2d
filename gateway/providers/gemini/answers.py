"""Answers of Gemini's generateContent and streamGenerateContent, which come in the same shape, as one Answer."""

import uuid
from typing import Any

import orjson

from gateway.providers.errors import ProviderGarbled, ProviderRefused
from gateway.providers.gemini.requests import CALL, FAMILY, SIGNATURE
from gateway.providers.interface import Answer, OnOpaque, OnText, Opaque, SuggestedCall, Usage
from gateway.providers.translation.names import Names
from gateway.providers.transport import streams

_FILTERED = frozenset(
    {
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    }
)
# The model tried to call a tool and failed; a retry may succeed.
_BROKEN = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"})


class Pieces:
    """An answer as far as it has come."""

    def __init__(self, on_text: OnText | None = None, on_opaque: OnOpaque | None = None):
        self._on_text = on_text
        self._on_opaque = on_opaque
        self._text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._opaque: list[Opaque] = []
        self._usage: dict[str, Any] = {}
        self._finish_reason = ""
        self._blocked = False

    def take(self, event: dict[str, Any]) -> bool:
        """Add one event, or the one body; no event says that it is the last."""
        usage = event.get("usageMetadata")
        if isinstance(usage, dict):
            self._usage |= usage
        feedback = event.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            self._blocked = True
        candidates = event.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        if isinstance(candidate, dict):
            self._finish_reason = streams.text(candidate.get("finishReason")) or self._finish_reason
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, dict) else None
            for part in parts if isinstance(parts, list) else ():
                self._add(part)
        return False

    def _add(self, part: object) -> None:
        if not isinstance(part, dict):
            raise ProviderGarbled("A part of the provider's answer cannot be read.")
        signature = streams.text(part.get(SIGNATURE))
        call, text = part.get("functionCall"), part.get("text")
        if call is not None:
            if not isinstance(call, dict):
                raise ProviderGarbled("A tool call in the provider's answer names no function.")
            if signature:
                self._opaque.append(Opaque(FAMILY, {CALL: len(self._calls), SIGNATURE: signature}))
            self._calls.append(call)
        elif isinstance(text, str):
            if signature:
                self._keep(part)
            if text and not part.get("thought"):
                self._text.append(text)
                if self._on_text is not None:
                    self._on_text(text)
        elif part:
            self._keep(part)

    def _keep(self, part: dict[str, Any]) -> None:
        try:
            orjson.dumps(part)
        except orjson.JSONEncodeError:
            raise ProviderGarbled("The provider's answer is nested too deeply.") from None
        self._opaque.append(Opaque(FAMILY, part))
        if self._on_opaque is not None:
            self._on_opaque(self._opaque[-1])

    def answer(self, names: Names, *, single: bool) -> Answer:
        """The complete answer; `single`: with no call after the first.

        Raises ProviderGarbled, and ProviderRefused when the API found the prompt at fault.
        """
        calls = tuple(_call(call, names) for call in self._calls[: 1 if single else None])
        return Answer(
            "".join(self._text),
            calls,
            self._meant(bool(calls)),
            _usage(self._usage),
            opaque=tuple(part for part in self._opaque if part.raw.get(CALL, -1) < len(calls)),
        )

    def _meant(self, calls: bool) -> str:
        reason = self._finish_reason
        if reason in _BROKEN:
            raise ProviderGarbled(f"The model's tool call went wrong ({reason}).")
        if reason == "MISSING_THOUGHT_SIGNATURE":
            raise ProviderRefused(f"The provider refused the request ({reason}).")
        if not reason and not self._blocked:
            raise ProviderGarbled("The provider's answer ended without a finish reason.")
        if reason in _FILTERED or (self._blocked and not reason):
            return "content_filter"
        if reason == "MAX_TOKENS":
            return "length"
        return "tool_calls" if calls else "stop"


def _call(call: dict[str, Any], names: Names) -> SuggestedCall:
    """The call, under its real name and, if the model gave it none, an id of our own."""
    given = call.get("args")
    arguments = given if isinstance(given, str) else "{}" if given is None else orjson.dumps(given).decode()
    call_id = streams.text(call.get("id")) or f"call_{uuid.uuid4().hex[:24]}"
    name = names.real(streams.text(call.get("name")))
    return SuggestedCall(call_id, name, names.arguments_from_provider(name, arguments))


def _usage(usage: dict[str, Any]) -> Usage:
    """The counts; Gemini's own of the answer leaves out what was thought."""
    thought = streams.count(usage.get("thoughtsTokenCount"))
    return Usage(
        streams.count(usage.get("promptTokenCount")) + streams.count(usage.get("toolUsePromptTokenCount")),
        streams.count(usage.get("candidatesTokenCount")) + thought,
        streams.count(usage.get("cachedContentTokenCount")),
        thought,
    )
