"""The transcript of a messages request: system prompt and messages, blocks read one by one.

Blocks that only Anthropic's own models understand stay unchanged, known here or not; what must match for any model
(calls and their results) is checked as Anthropic checks it.
"""

from typing import Any

import orjson

from gateway.compat.messages.fields import Fields, one_of, wrong
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import (
    AssistantMessage,
    Document,
    Image,
    Opaque,
    Part,
    PromptMessage,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_USERS_ALONE = frozenset({"tool_result"})
_ASSISTANTS_ALONE = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
# Separates texts that were said one after the other; pieces of one text with citations have nothing between them.
_BETWEEN = "\n\n"


def read(asked: Fields) -> tuple[PromptMessage, ...]:
    """The system prompt and the messages. Raises BadRequest."""
    transcript = _Transcript()
    given = asked.need("messages")
    if not isinstance(given, list):
        raise wrong("messages", "Input should be a valid list")
    if not given:
        raise wrong("messages", "at least one message is required")
    for at, message in enumerate(given):
        transcript.add(Fields.of(message, f"messages.{at}"))
    transcript.refuse_unanswered()
    return (*_system(asked), *transcript.messages)


def _system(asked: Fields) -> list[PromptMessage]:
    """The system prompt, as the transcript's first message."""
    parts = _content(asked, "system", {}, needed=False)
    return [_system_message(parts)] if parts else []


def _system_message(parts: tuple[Part, ...]) -> SystemMessage:
    text, shown = _said(parts)
    return SystemMessage(text, parts=shown)


class _Transcript:
    """The messages as far as they are read, and the calls of the last answer: their names by id."""

    def __init__(self) -> None:
        self.messages: list[PromptMessage] = []
        self._made: set[str] = set()
        self._open: dict[str, str] = {}
        self._answered: set[str] = set()
        self._open_at = ""

    def add(self, message: Fields) -> None:
        """Read one message."""
        role = message.need_text("role")
        message.only("role", "content")
        if role == "user":
            self._user(message)
        elif role == "assistant":
            self._assistant(message)
        elif role == "system":
            if not self.messages:
                raise wrong(message.at, "use the top-level 'system' parameter for the initial system prompt")
            self.messages.append(_system_message(_content(message, "content", {})))
        else:
            raise wrong("messages", f'Unexpected role "{role[:100]}". Allowed roles are "user" or "assistant".')

    def refuse_unanswered(self) -> None:
        """Refuse an answer whose calls have no results after it."""
        missing = [call_id for call_id in self._open if call_id not in self._answered]
        if missing:
            raise wrong(
                self._open_at,
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            )

    def _user(self, message: Fields) -> None:
        results: list[ToolMessage] = []
        parts = _content(message, "content", {"tool_result": lambda block: results.append(self._result(block))})
        if not parts and not results:
            raise wrong(message.at, "user messages must have non-empty content")
        self.messages += results
        if parts:
            self.messages.append(UserMessage(*_said(parts)))

    def _result(self, block: Fields) -> ToolMessage:
        call_id = block.need_text("tool_use_id")
        if call_id not in self._open:
            raise wrong(
                block.at,
                f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message.",
            )
        if call_id in self._answered:
            raise wrong(
                block.at,
                "each tool_use must have a single result. Found multiple `tool_result` blocks with id: " + call_id,
            )
        self._answered.add(call_id)
        text, parts = _said(_content(block, "content", {}, needed=False))
        extra = block.rest("type", "tool_use_id", "content", "is_error")
        return ToolMessage(
            call_id,
            self._open[call_id],
            text,
            parts,
            is_error=block.boolean("is_error") or False,
            family=FAMILY if extra else None,
            extra=extra,
        )

    def _assistant(self, message: Fields) -> None:
        if self.messages and not isinstance(self.messages[-1], AssistantMessage):
            self.refuse_unanswered()
            self._open, self._answered = {}, set()
        calls: list[SuggestedCall] = []
        parts = _content(message, "content", {"tool_use": lambda block: calls.append(self._call(block, message.at))})
        opaque = tuple(part for part in parts if isinstance(part, Opaque))
        text, _ = _said([part for part in parts if isinstance(part, Text)])
        plain = (*opaque, *([Text(text)] if text else []))
        self.messages.append(AssistantMessage(text, tuple(calls), opaque, parts=() if plain == parts else parts))

    def _call(self, block: Fields, at: str) -> SuggestedCall:
        call_id, name = block.need_text("id"), block.need_text("name")
        if call_id in self._made:
            raise wrong(block.at, "`tool_use` ids must be unique")
        self._made.add(call_id)
        self._open[call_id] = name
        self._open_at = at
        extra = block.rest("type", "id", "name", "input")
        arguments = orjson.dumps(block.need_object("input").values).decode()
        return SuggestedCall(call_id, name, arguments, FAMILY if extra else None, extra)


def _content(holder: Fields, name: str, taken: dict[str, Any], *, needed: bool = True) -> tuple[Part, ...]:
    """The parts of a text or of a list of blocks; blocks of a `taken` type go to their own reader."""
    place = holder.place(name)
    given = holder.values.get(name)
    if given is None and not needed:
        return ()
    if given is None:
        raise wrong(place, "Field required")
    if isinstance(given, str):
        return (Text(given),) if given else ()
    if not isinstance(given, list):
        raise wrong(place, "Input should be a valid string or a valid list")
    role = holder.values.get("role") if name == "content" else name
    parts: list[Part] = []
    for at, each in enumerate(given):
        block = Fields.of(each, f"{place}.{at}")
        kind = block.need_text("type")
        if kind in taken:
            taken[kind](block)
            continue
        _refuse_misplaced(block, kind, role)
        part = _part(block, kind)
        if not isinstance(part, Text) or part.text:
            parts.append(part)
        elif role in ("user", "system"):
            # Answers and results may well be empty, and are sent back as they came.
            raise wrong(block.at, "text content blocks must be non-empty")
    return tuple(parts)


def _refuse_misplaced(block: Fields, kind: str, role: Any) -> None:
    if kind in _USERS_ALONE:
        raise wrong(block.at, f"`{kind}` blocks can only be in `user` messages")
    if kind in _ASSISTANTS_ALONE and role != "assistant":
        raise wrong(block.at, f"`{kind}` blocks can only be in `assistant` messages")
    if role == "system" and kind != "text":
        raise wrong(f"{block.at}.type", "Input should be 'text'")


def _part(block: Fields, kind: str) -> Part:
    if kind == "text":
        block.need("text")
        extra = block.rest("type", "text")
        return Text(block.text("text") or "", FAMILY if extra else None, extra)
    if kind == "image":
        return _image(block)
    if kind == "document":
        return _document(block)
    return Opaque(FAMILY, block.values)


def _document(block: Fields) -> Document | Opaque:
    """A PDF; documents of other kinds are for Anthropic's own models alone."""
    source, title = block.values.get("source"), block.values.get("title")
    if not isinstance(source, dict) or not isinstance(title, str | None):
        return Opaque(FAMILY, block.values)
    data = source.get("data")
    known = {"type": "base64", "media_type": "application/pdf", "data": data}
    if source != known or not isinstance(data, str):
        return Opaque(FAMILY, block.values)
    extra = block.rest("type", "source", "title")
    return Document("application/pdf", data, title or "", FAMILY if extra else None, extra)


def _image(block: Fields) -> Image | Opaque:
    source = block.need_object("source")
    kind = source.need_text("type")
    extra = block.rest("type", "source")
    family = FAMILY if extra else None
    if kind == "base64" and not source.rest("type", "media_type", "data"):
        media_type = source.need_text("media_type")
        if media_type not in _IMAGES:
            raise wrong(source.place("media_type"), f"Input should be {one_of(_IMAGES)}")
        return Image(media_type, source.need_text("data"), family=family, extra=extra)
    if kind == "url" and not source.rest("type", "url"):
        return Image(url=source.need_text("url"), family=family, extra=extra)
    return Opaque(FAMILY, block.values)


def _said(parts: tuple[Part, ...] | list[Any]) -> tuple[str, tuple[Part, ...]]:
    """What of the parts is text, and the parts themselves unless they are nothing but that text."""
    texts = [part for part in parts if isinstance(part, Text)]
    text = ""
    for at, part in enumerate(texts):
        cited = part.extra.get("citations") or (at and texts[at - 1].extra.get("citations"))
        text += ("" if not at or cited else _BETWEEN) + part.text
    return text, () if tuple(parts) in ((), (Text(text),)) else tuple(parts)
