"""The transcript of a chat completions request: roles, parts, calls and their results, checked and put into our words.

As OpenAI has it, the results of an assistant message's calls follow it directly, one each.
"""

import re
from collections import deque
from typing import Any, Literal

from gateway.compat.openai_fields import Fields, MissingField, WrongType, WrongValue, checked
from gateway.providers.interface import (
    AssistantMessage,
    Document,
    Family,
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
from gateway.providers.openai.answers import ASIDES

MAX_MESSAGES = 10_000
MAX_PARTS = 1_000
MAX_CALLS = 1_000
MAX_ID_CHARACTERS = 512
MAX_CALLED_CHARACTERS = 1_000
"""Longer than a tool's name may be, since a model may have made it up."""

_FAMILY: Family = "openai"
_DATA_URL = re.compile(r"data:([a-z]+/[a-zA-Z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})")
_PDF_URL = re.compile(r"data:application/pdf;base64,([A-Za-z0-9+/]+={0,2})")
_ROLES = "system, developer, user, assistant, tool or function"


def messages(asked: Fields) -> tuple[PromptMessage, ...]:
    """The messages in order. Raises BadRequest."""
    asked.need("messages")
    given = asked.array("messages", MAX_MESSAGES)
    if not given:
        raise WrongValue("messages", "it must hold at least one message.")
    transcript = _Transcript()
    for index, each in enumerate(given):
        transcript.add(index, Fields.of(each, f"messages[{index}]"))
    transcript.settle()
    return tuple(transcript.messages)


class _Transcript:
    """The messages so far, and the calls that still wait for their results: names by id, in order."""

    def __init__(self) -> None:
        self.messages: list[PromptMessage] = []
        self._made: set[str] = set()
        self._open: dict[str, deque[str]] = {}
        self._calling = ""

    def add(self, index: int, message: Fields) -> None:
        """Take in the next message."""
        role = message.need_text("role")
        if role == "tool":
            self.messages.append(self._result(message))
            return
        if role == "function":
            self.messages.append(self._legacy_result(message))
            return
        self.settle()
        if role == "user":
            text, parts = _content(message, {"text", "image_url", "input_audio", "file"})
            self.messages.append(UserMessage(text, parts, _FAMILY, _extra(message)))
        elif role in ("system", "developer"):
            text, parts = _content(message, {"text"})
            of_whom: Literal["system", "developer"] = "system" if role == "system" else "developer"
            self.messages.append(SystemMessage(text, of_whom, parts, _FAMILY, _extra(message)))
        elif role == "assistant":
            self._assistant(index, message)
        else:
            raise WrongValue(message.place("role"), f"{role[:100]!r} is none of {_ROLES}.")

    def settle(self) -> None:
        """Refuse calls that are left without a result."""
        left = [call_id for call_id, names in self._open.items() if names]
        if left:
            raise WrongValue(self._calling, f"no result follows for the call {left[0][:100]!r}.")
        self._open = {}

    def _assistant(self, index: int, message: Fields) -> None:
        calls = _calls(message)
        legacy = message.object("function_call")
        if legacy is not None:
            if calls:
                raise WrongValue(legacy.at, "it cannot be combined with tool_calls.")
            # These calls had no ids; the place is one that stays the same as the transcript grows.
            calls = (_function(legacy, f"call_{index}"),)
        self.messages.append(_assistant(message, calls))
        self._calling = legacy.at if legacy is not None else message.place("tool_calls")
        for call in calls:
            self._made.add(call.id)
            self._open.setdefault(call.id, deque()).append(call.name)

    def _result(self, message: Fields) -> ToolMessage:
        call_id = message.need_text("tool_call_id", MAX_ID_CHARACTERS)
        if not self._open.get(call_id):
            why = "that call has its result already, or other messages came between."
            if call_id not in self._made:
                why = f"no earlier message made a call {call_id[:100]!r}."
            raise WrongValue(message.place("tool_call_id"), why)
        text, parts = _content(message, {"text"})
        extra = _extra(message, "tool_call_id")
        return ToolMessage(call_id, self._open[call_id].popleft(), text, parts, family=_FAMILY, extra=extra)

    def _legacy_result(self, message: Fields) -> ToolMessage:
        name = message.need_text("name", MAX_CALLED_CHARACTERS)
        content = message.text("content") or ""
        for call_id, names in self._open.items():
            if names and names[0] == name:
                return ToolMessage(call_id, names.popleft(), content, family=_FAMILY)
        raise WrongValue(message.place("name"), f"the message before made no call of {name[:100]!r}.")


def _extra(message: Fields, *known: str) -> dict[str, Any]:
    message.text("name")
    return message.rest("role", "content", *known)


def _assistant(message: Fields, calls: tuple[SuggestedCall, ...]) -> AssistantMessage:
    refusal = message.text("refusal")
    audio = message.object("audio")
    given = message.values.get("content")
    text = ""
    parts: tuple[Part, ...] = ()
    # An empty array is what some SDKs send where there are only calls.
    if given is not None and given != []:
        text, parts = _content(message, {"text", "refusal"})
    elif not calls and refusal is None and audio is None:
        raise MissingField(message.place("content"))
    extra = _extra(message, "tool_calls", "function_call", "audio", *_asides(message))
    refused = "".join(part.raw["refusal"] for part in parts if isinstance(part, Opaque))
    if refused:
        refusal = refused
        parts = tuple(part for part in parts if isinstance(part, Text))
    opaque = [Opaque(_FAMILY, {"type": name, name: message.values[name]}) for name in _asides(message)]
    if refused:
        opaque.append(Opaque(_FAMILY, {"type": "refusal", "refusal": refused}))
    if audio is not None:
        opaque.append(Opaque(_FAMILY, {"type": "audio", "audio": audio.values}))
    return AssistantMessage(text or refusal or "", calls, tuple(opaque), parts, _FAMILY, extra)


def _asides(message: Fields) -> list[str]:
    """The fields that hold what a model thought or refused."""
    return [name for name, kind in ASIDES.items() if isinstance(message.values.get(name), kind)]


# --- calls -----------------------------------------------------------------------------------------------------------
def _calls(message: Fields) -> tuple[SuggestedCall, ...]:
    given = message.array("tool_calls", MAX_CALLS)
    at = message.place("tool_calls")
    return tuple(_call(Fields.of(each, f"{at}[{index}]")) for index, each in enumerate(given))


def _call(given: Fields) -> SuggestedCall:
    call_id = given.need_text("id", MAX_ID_CHARACTERS)
    kind = given.text("type") or "function"
    extra = given.rest("id", "type", "index", kind)
    if kind == "function":
        return _function(given.need_object("function"), call_id, extra)
    if kind == "custom":
        return _function(given.need_object("custom"), call_id, extra, arguments="input")
    raise WrongValue(given.place("type"), f"{kind[:100]!r} is neither function nor custom.")


def _function(
    given: Fields, call_id: str, extra: dict[str, Any] | None = None, *, arguments: str = "arguments"
) -> SuggestedCall:
    name = given.need_text("name", MAX_CALLED_CHARACTERS)
    given.need(arguments)
    text = given.text(arguments) or ""
    return SuggestedCall(call_id, name, text, _FAMILY, extra or {})


# --- parts -----------------------------------------------------------------------------------------------------------
def _content(message: Fields, kinds: set[str]) -> tuple[str, tuple[Part, ...]]:
    """A message's content: its text, and its parts when it came in parts."""
    given = message.need("content")
    at = message.place("content")
    if isinstance(given, str):
        return checked(given, at), ()
    if not isinstance(given, list):
        raise WrongType(at, "a string or an array of parts", given)
    if not 0 < len(given) <= MAX_PARTS:
        raise WrongValue(at, f"it must hold from 1 to {MAX_PARTS:,} parts.")
    parts = tuple(_part(Fields.of(each, f"{at}[{index}]"), kinds) for index, each in enumerate(given))
    return "".join(part.text for part in parts if isinstance(part, Text)), parts


def _part(part: Fields, kinds: set[str]) -> Part:
    kind = part.need_text("type")
    if kind not in kinds:
        raise WrongValue(part.place("type"), f"{kind[:100]!r} is not supported here; it may be {_either(kinds)}.")
    if kind == "text":
        part.need("text")
        return Text(part.text("text") or "", _FAMILY, part.rest("type", "text"))
    if kind == "image_url":
        return _image(part)
    if kind == "file":
        return _file(part)
    if kind == "refusal":
        part.need("refusal")
        part.text("refusal")
    elif kind == "input_audio":
        audio = part.need_object(kind)
        audio.need_text("data")
        audio.need_text("format")
    else:
        part.need_object(kind)
    return Opaque(_FAMILY, part.values)


def _file(part: Fields) -> Document | Opaque:
    """A PDF; a file of the provider's, or of another type, is for OpenAI's own models alone."""
    file = part.need_object("file")
    data, name = file.values.get("file_data"), file.values.get("filename")
    found = _PDF_URL.fullmatch(data) if isinstance(data, str) else None
    if found is None or file.rest("file_data", "filename") or not isinstance(name, str | None):
        return Opaque(_FAMILY, part.values)
    return Document("application/pdf", found[1], name or "", _FAMILY, part.rest("type", "file"))


def _either(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def _image(part: Fields) -> Image:
    image = part.need_object("image_url")
    url = image.need_text("url")
    for name in image.rest("url", "detail"):
        raise WrongValue(image.place(name), "it is not known here.")
    detail = image.text("detail")
    extra = part.rest("type", "image_url") | ({} if detail is None else {"detail": detail})
    if found := _DATA_URL.fullmatch(url):
        return Image(media_type=found[1], data=found[2], family=_FAMILY, extra=extra)
    if not url.startswith(("https://", "http://")):
        raise WrongValue(image.place("url"), "it must be an http(s) URL or data:<type>;base64,<data>.")
    return Image(url=url, family=_FAMILY, extra=extra)
