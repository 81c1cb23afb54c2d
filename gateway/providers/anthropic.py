"""Anthropic's messages, through the official SDK."""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import anthropic
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

_PATH = "/v1/messages"
_RAW_INPUT = re.compile(rb'(?<!\\)"input"\s*:\s*(?=[{\[])')
_FINISH_REASONS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
DEFAULT_OUTPUT_TOKENS = 8192


class AnthropicProvider:
    """An adapter to the messages API at `base_url`, by default Anthropic's own."""

    name = "anthropic"
    family: Family = "anthropic"

    def __init__(self, api_key: str, base_url: str | None = None, *, silent_seconds: float = SILENT_SECONDS):
        client = anthropic.AsyncAnthropic(
            api_key=api_key, base_url=base_url, max_retries=0, http_client=http_client(anthropic, silent_seconds)
        )
        self._upstream = Upstream(self.name, anthropic, client, _RAW_INPUT)

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        names = Names(tool.name for tool in prompt.tools)
        body = _body(prompt, names)
        if on_text is None:
            return _answer(await self._upstream.ask(_PATH, body), names)
        body["stream"] = True
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


def _body(prompt: Prompt, names: Names) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": prompt.model,
        "max_tokens": prompt.options.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
        "messages": _messages(with_unique_ids(prompt.messages), names),
    }
    if prompt.system:
        body["system"] = prompt.system
    if prompt.tools:
        body["tools"] = definitions.anthropic(prompt.tools, names.alias)
    return body


def _messages(messages: tuple[PromptMessage, ...], names: Names) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for message in messages:
        if isinstance(message, ToolMessage):
            if results is None:
                results = []
                result.append({"role": "user", "content": results})
            results.append({"type": "tool_result", "tool_use_id": message.call_id, "content": message.content})
            continue
        results = None
        if isinstance(message, UserMessage | SystemMessage):
            result.append({"role": "user", "content": message.text})
            continue
        # An empty text block is refused, and so is a message without any block.
        content: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
        content += [
            {"type": "tool_use", "id": call.id, "name": names.alias(call.name), "input": _object(call.arguments)}
            for call in message.calls
        ]
        if content:
            result.append({"role": "assistant", "content": content})
    return result


def _object(arguments: str) -> dict[str, Any]:
    """The arguments as the object that the API demands: empty when the model's text was none."""
    try:
        value = orjson.loads(arguments)
        orjson.dumps(value)  # Objects may be nested deeper than can be written again.
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _answer(answer: dict[str, Any], names: Names) -> Answer:
    content = answer.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise ProviderGarbled("The provider's answer has no content.")
    text = "".join(wire.text(block.get("text")) for block in content if block.get("type") == "text")
    blocks = [_Block.of(block) for block in content if block.get("type") == "tool_use"]
    calls = tuple(block.call(names) for block in blocks)
    return Answer(text, calls, _finish_reason(answer.get("stop_reason"), calls), _usage(answer.get("usage")))


def _finish_reason(reason: object, calls: tuple[SuggestedCall, ...]) -> str:
    if not isinstance(reason, str) or not reason:
        raise ProviderGarbled("The provider's answer ended without a stop reason.")
    return _FINISH_REASONS.get(reason) or ("tool_calls" if calls else "stop")


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    cached = wire.count(usage.get("cache_read_input_tokens")) + wire.count(usage.get("cache_creation_input_tokens"))
    return Usage(wire.count(usage.get("input_tokens")) + cached, wire.count(usage.get("output_tokens")))


@dataclass(slots=True)
class _Block:
    """A tool_use block as far as it has come: `whole` is the input it began with, `pieces` what followed."""

    id: str
    name: str
    whole: str
    pieces: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, block: dict[str, Any]) -> "_Block":
        given = block.get("input")
        whole = given if isinstance(given, str) else "{}" if given is None else orjson.dumps(given).decode()
        return cls(wire.text(block.get("id")), wire.text(block.get("name")), whole)

    def call(self, names: Names) -> SuggestedCall:
        """The call, under its real name and, if the server gave it none, an id of our own."""
        call_id = self.id or f"toolu_{uuid.uuid4().hex[:24]}"
        return SuggestedCall(call_id, names.real(self.name), "".join(self.pieces) or self.whole)


class _Pieces:
    """A streamed answer as far as it has come."""

    def __init__(self, on_text: OnText):
        self._on_text = on_text
        self._text: list[str] = []
        self._blocks: list[_Block] = []
        self._at: dict[int | str | None, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason: object = None
        self._stopped = False

    def take(self, event: dict[str, Any]) -> bool:
        """Take in one event; True when it was the last."""
        kind = event.get("type")
        if kind == "content_block_delta":
            self._add(wire.index(event.get("index")), event.get("delta"))
        elif kind == "content_block_start":
            self._start(wire.index(event.get("index")), event.get("content_block"))
        elif kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_delta":
            delta = event.get("delta")
            self._stop_reason = delta.get("stop_reason") if isinstance(delta, dict) else None
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self._stopped = True
        return self._stopped

    def _start(self, index: int | str | None, block: object) -> None:
        if not isinstance(block, dict):
            return
        self._at.pop(index, None)
        if block.get("type") == "tool_use":
            self._at[index] = _Block.of(block)
            self._blocks.append(self._at[index])
        elif block.get("type") == "text":
            self._say(block.get("text"))

    def _add(self, index: int | str | None, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        if delta.get("type") == "text_delta":
            self._say(delta.get("text"))
        elif delta.get("type") == "input_json_delta":
            block = self._at.get(index)
            # Blocks of the provider's own tools stream their input too, and are none of ours.
            if block is not None:
                block.pieces.append(wire.text(delta.get("partial_json")))

    def _say(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._text.append(text)
            self._on_text(text)

    def _count(self, usage: object) -> None:
        """Later counts are cumulative and replace earlier ones."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def answer(self, names: Names) -> Answer:
        """The answer, now that the stream has ended."""
        if not self._stopped:
            raise ProviderGarbled("The provider's answer ended before its end was announced.")
        calls = tuple(block.call(names) for block in self._blocks)
        return Answer("".join(self._text), calls, _finish_reason(self._stop_reason, calls), _usage(self._usage))
