"""OpenAI's chat completions, and every server that speaks them, through the official SDK."""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import openai
import orjson

from gateway.providers import wire
from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import (
    Answer,
    Family,
    OnOpaque,
    OnText,
    Prompt,
    PromptMessage,
    SuggestedCall,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from gateway.providers.names import Names
from gateway.providers.replay import with_unique_ids
from gateway.providers.upstream import SILENT_SECONDS, Upstream, http_client
from tools import definitions

_PATH = "/chat/completions"
_RAW_ARGUMENTS = re.compile(rb'(?<!\\)"arguments"\s*:\s*(?=[{\[])')
_FINISH_REASONS = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


class OpenAIProvider:
    """An adapter to the chat completions API at `base_url`, by default OpenAI's own."""

    family: Family = "openai"

    def __init__(
        self, api_key: str, base_url: str | None = None, name: str = "openai", *, silent_seconds: float = SILENT_SECONDS
    ):
        self.name = name
        client = openai.AsyncOpenAI(
            api_key=api_key, base_url=base_url, max_retries=0, http_client=http_client(openai, silent_seconds)
        )
        # OpenAI's newer models refuse `max_tokens`; other servers often know nothing else.
        own = client.base_url.host.endswith("openai.com")
        self._limit = "max_completion_tokens" if own else "max_tokens"
        self._upstream = Upstream(name, openai, client, _RAW_ARGUMENTS)

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        names = Names(tool.name for tool in prompt.tools)
        body = self._body(prompt, names)
        if on_text is None:
            return _answer(await self._upstream.ask(_PATH, body), names)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        pieces = _Pieces(on_text)
        whole = await self._upstream.stream(_PATH, body, pieces.take)
        if whole is None:
            return pieces.answer(names)
        answer = _answer(whole, names)
        if answer.text:
            on_text(answer.text)
        return answer

    async def close(self) -> None:
        """Close the HTTP client."""
        await self._upstream.close()

    def _body(self, prompt: Prompt, names: Names) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if prompt.system:
            messages.append({"role": "system", "content": prompt.system})
        messages += [_message(message, names) for message in with_unique_ids(prompt.messages)]
        body: dict[str, Any] = {"model": prompt.model, "messages": messages}
        if prompt.tools:
            body["tools"] = definitions.openai(prompt.tools, names.alias)
        if prompt.options.max_output_tokens is not None:
            body[self._limit] = prompt.options.max_output_tokens
        return body


def _message(message: PromptMessage, names: Names) -> dict[str, Any]:
    if isinstance(message, SystemMessage):
        return {"role": message.role, "content": message.text}
    if isinstance(message, UserMessage):
        return {"role": "user", "content": message.text}
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if not message.calls:
        return {"role": "assistant", "content": message.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": names.alias(call.name), "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _answer(answer: dict[str, Any], names: Names) -> Answer:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProviderGarbled("The provider's answer has no choices.")
    slots = [_Slot.of(entry) for entry in _entries(message.get("tool_calls"))]
    if not slots and isinstance(message.get("function_call"), dict):
        slots = [_Slot.of({"function": message["function_call"]})]
    calls = tuple(slot.call(names) for slot in slots)
    text = _content(message.get("content")) or wire.text(message.get("refusal"))
    return Answer(text, calls, _finish_reason(choice.get("finish_reason"), calls), _usage(answer.get("usage")))


def _content(content: object) -> str:
    """Text that is a string or, from some servers, a list of parts."""
    if isinstance(content, list):
        return "".join(wire.text(part.get("text")) for part in content if isinstance(part, dict))
    return wire.text(content)


def _entries(calls: object) -> list[dict[str, Any]]:
    entries = calls or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ProviderGarbled("The tool calls in the provider's answer cannot be read.")
    return entries


def _finish_reason(reason: object, calls: tuple[SuggestedCall, ...]) -> str:
    if isinstance(reason, str) and reason in _FINISH_REASONS:
        return _FINISH_REASONS[reason]
    # Some servers say "stop" beside tool calls, and others have words of their own for "stop".
    return "tool_calls" if calls else "stop"


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(wire.count(usage.get("prompt_tokens")), wire.count(usage.get("completion_tokens")))


@dataclass(slots=True)
class _Slot:
    """A tool call as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, entry: dict[str, Any]) -> "_Slot":
        slot = cls()
        slot.add(entry)
        return slot

    def add(self, entry: dict[str, Any]) -> None:
        """Take in a whole call or the next piece of one."""
        function = entry.get("function")
        if not isinstance(function, dict):
            raise ProviderGarbled("A tool call in the provider's answer names no function.")
        self.id = self.id or wire.text(entry.get("id"))
        name = wire.text(function.get("name"))
        if name != self.name:
            self.name += name
        arguments = function.get("arguments")
        if arguments is not None:
            self.arguments.append(arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode())

    def call(self, names: Names) -> SuggestedCall:
        """The call, under its real name and, if the server gave it none, an id of our own."""
        arguments = "".join(self.arguments) if self.arguments else "{}"
        return SuggestedCall(self.id or f"call_{uuid.uuid4().hex[:24]}", names.real(self.name), arguments)


class _Pieces:
    """A streamed answer as far as it has come."""

    def __init__(self, on_text: OnText):
        self._on_text = on_text
        self._text: list[str] = []
        self._slots: list[_Slot] = []
        self._at: dict[int | str | None, _Slot] = {}
        self._finish_reason: str | None = None
        self._usage: object = None

    def take(self, event: dict[str, Any]) -> bool:
        """Take in one chunk; none is known to be the last, since usage comes after the finish reason."""
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            self._finish_reason = wire.text(choice.get("finish_reason")) or self._finish_reason
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
        return False

    def _add(self, delta: dict[str, Any]) -> None:
        text = _content(delta.get("content")) or wire.text(delta.get("refusal"))
        if text:
            self._text.append(text)
            self._on_text(text)
        for entry in _entries(delta.get("tool_calls")):
            self._slot(entry).add(entry)
        if isinstance(delta.get("function_call"), dict):
            self._slot({"index": "function_call"}).add({"function": delta["function_call"]})

    def _slot(self, entry: dict[str, Any]) -> _Slot:
        """The call that a piece belongs to: by index, unless a server gives every call the same index or none."""
        index, call_id = wire.index(entry.get("index")), wire.text(entry.get("id"))
        slot = self._at.get(index)
        if slot is None or (call_id and slot.id and call_id != slot.id):
            slot = _Slot()
            self._slots.append(slot)
            self._at[index] = slot
        return slot

    def answer(self, names: Names) -> Answer:
        """The answer, now that the stream has ended."""
        if self._finish_reason is None:
            raise ProviderGarbled("The provider's answer ended without a finish reason.")
        calls = tuple(slot.call(names) for slot in self._slots)
        return Answer("".join(self._text), calls, _finish_reason(self._finish_reason, calls), _usage(self._usage))
