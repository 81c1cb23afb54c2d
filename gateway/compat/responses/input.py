"""The input of a Responses request: its items, checked and put into our words.

Everything between two messages of the user is one answer: its texts, its calls and their results. Managed calls are
taken out; they are put back as they were, see `gateway.runs.prompting.continuity`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from gateway.compat.openai_fields import Fields, MissingField, WrongType, WrongValue, checked
from gateway.compat.responses import ids, parts
from gateway.providers.interface import (
    AssistantMessage,
    Family,
    Opaque,
    PromptMessage,
    SuggestedCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from gateway.runs.errors import NoSuchResponse

MAX_ITEMS = 10_000
MAX_ID_CHARACTERS = 512
MAX_CALLED_CHARACTERS = 1_000
MAX_REASON_CHARACTERS = 2_000
SERVER = "toolgate"
"""The label under which managed tools show."""

_FAMILY: Family = "openai"
_BETWEEN_TEXTS = "\n\n"


@dataclass(frozen=True, slots=True)
class Input:
    """What was put in: `references` and `approvals` as in ClientRequest."""

    messages: tuple[PromptMessage, ...]
    references: tuple[tuple[int, str], ...] = ()
    approvals: dict[str, list[Any]] = field(default_factory=dict)


def read(asked: Fields, *, goes_on: bool) -> Input:
    """The input in order; it may be left out where a response is gone on from. Raises BadRequest, NoSuchResponse."""
    given = asked.values.get("input")
    if given is None and not goes_on:
        raise MissingField("input")
    if isinstance(given, str):
        if not given:
            raise WrongValue("input", "it must not be empty.")
        return Input((UserMessage(checked(given, "input"), family=_FAMILY),))
    if given is not None and not isinstance(given, list):
        raise WrongType("input", "a string or an array of items", given)
    transcript = _Transcript()
    for index, each in enumerate(asked.array("input", MAX_ITEMS)):
        transcript.add(Fields.of(each, f"input[{index}]"))
    found = transcript.done()
    if not found.messages and not goes_on:
        raise WrongValue("input", "it must hold at least one message.")
    return found


@dataclass(slots=True)
class _Answer:
    """One answer of the model's as its items come in; `run` is whose it is, if they tell."""

    run: str | None
    said: list[str] = field(default_factory=list)
    calls: list[SuggestedCall] = field(default_factory=list)
    asides: list[Opaque] = field(default_factory=list)
    referred: bool = False

    def message(self) -> AssistantMessage:
        """The whole answer; empty where it is only referred to."""
        if self.referred:
            return AssistantMessage("", family=_FAMILY)
        text = _BETWEEN_TEXTS.join(text for text in self.said if text)
        return AssistantMessage(text, tuple(self.calls), tuple(self.asides), family=_FAMILY)


class _Transcript:
    """The items so far; `_latest` is the answer that still goes on."""

    def __init__(self) -> None:
        self._entries: list[PromptMessage | _Answer] = []
        self._latest: _Answer | None = None
        self._approvals: dict[str, list[Any]] = {}

    def add(self, item: Fields) -> None:
        """Take in the next item."""
        kind = item.text("type") or ("message" if "role" in item.values else "")
        if not kind:
            raise MissingField(item.place("type"))
        take = _KINDS.get(kind)
        if take is None:
            raise WrongValue(item.place("type"), f"items of type {kind[:100]!r} are not supported here.")
        take(self, item)

    def done(self) -> Input:
        """All that was put in."""
        entries = [each for each in self._entries if not isinstance(each, _Answer) or each.referred or _holds(each)]
        messages = tuple(each.message() if isinstance(each, _Answer) else each for each in entries)
        referred = [
            (at, each.run)
            for at, each in enumerate(entries)
            if isinstance(each, _Answer) and each.referred and each.run
        ]
        return Input(messages, tuple(referred), self._approvals)

    def _answer(self, run: str | None) -> _Answer:
        """The answer that an item is of: the one before it, unless it is known to be another run's.

        Some clients put each call's result after the call, so an answer goes on after results if it is the same run's.
        """
        latest = self._latest
        if latest is not None:
            known = run is not None and latest.run == run
            if known or (self._entries[-1] is latest and (run is None or latest.run is None)):
                latest.run = latest.run or run
                return latest
        made = _Answer(run)
        self._entries.append(made)
        self._latest = made
        # What was said to approval requests before the model answered is done.
        self._approvals = {}
        return made

    def message(self, item: Fields) -> None:
        """A message of any role."""
        role = item.need_text("role")
        if role == "assistant":
            answer = self._answer(_run(item))
            text, refusal = parts.said(item)
            answer.said.append(text)
            answer.asides += [Opaque(_FAMILY, {"type": "refusal", "refusal": refusal})] if refusal else []
            return
        text, found = parts.content(item, "content")
        self._latest = None
        if role == "user":
            self._entries.append(UserMessage(text, found, _FAMILY))
        elif role in ("system", "developer"):
            of_whom: Literal["system", "developer"] = "system" if role == "system" else "developer"
            self._entries.append(SystemMessage(text, of_whom, found, _FAMILY))
        else:
            raise WrongValue(item.place("role"), f"{role[:100]!r} is none of user, assistant, system and developer.")

    def reasoning(self, item: Fields) -> None:
        """What a model thought, if it can be read; sealed thoughts have no place in chat completions."""
        answer = self._answer(_run(item))
        thought = "".join(
            Fields.of(each, item.place(f"content[{index}]")).text("text") or ""
            for index, each in enumerate(item.array("content", parts.MAX_PARTS))
        )
        if thought:
            answer.asides.append(Opaque(_FAMILY, {"type": "reasoning_content", "reasoning_content": thought}))

    def call(self, item: Fields) -> None:
        """A call of a client's tool."""
        call_id = item.need_text("call_id", MAX_ID_CHARACTERS)
        name = item.need_text("name", MAX_CALLED_CHARACTERS)
        arguments = "input" if item.values["type"] == "custom_tool_call" else "arguments"
        item.need(arguments)
        text = item.text(arguments) or ""
        self._answer(_run(item)).calls.append(SuggestedCall(call_id, name, text, _FAMILY))

    def result(self, item: Fields) -> None:
        """What a call of a client's tool came to; its name is found later, beside the call."""
        call_id = item.need_text("call_id", MAX_ID_CHARACTERS)
        text, found = parts.content(item, "output")
        self._entries.append(ToolMessage(call_id, "", text, found, family=_FAMILY))

    def managed(self, item: Fields) -> None:
        """A managed call, its listing, or a request to approve one: nothing, since we know it better."""
        label = item.need_text("server_label")
        if label != SERVER:
            raise WrongValue(item.place("server_label"), f"{label[:100]!r} is no server of Toolgate's.")

    def approval(self, item: Fields) -> None:
        """What the user says to an approval request."""
        at = item.place("approval_request_id")
        approval_id = ids.approval_of(item.need_text("approval_request_id", MAX_ID_CHARACTERS))
        if approval_id is None:
            raise WrongValue(at, "it is the id of no approval request of Toolgate's.")
        item.need("approve")
        reason = item.text("reason", MAX_REASON_CHARACTERS) or ""
        said = [item.boolean("approve"), reason, item.text("seen", MAX_ID_CHARACTERS)]
        if self._approvals.setdefault(approval_id, said) != said:
            raise WrongValue(at, "another item says something else to the same approval request.")
        self._latest = None

    def reference(self, item: Fields) -> None:
        """An item that we sent before."""
        item_id = item.need_text("id", MAX_ID_CHARACTERS)
        if ids.is_managed(item_id):
            return
        run = ids.run_of_item(item_id)
        if run is None:
            raise NoSuchResponse(item_id, item.place("id"))
        self._answer(run).referred = True


_KINDS: dict[str, Callable[[_Transcript, Fields], None]] = {
    "message": _Transcript.message,
    "reasoning": _Transcript.reasoning,
    "function_call": _Transcript.call,
    "custom_tool_call": _Transcript.call,
    "function_call_output": _Transcript.result,
    "custom_tool_call_output": _Transcript.result,
    "mcp_call": _Transcript.managed,
    "mcp_list_tools": _Transcript.managed,
    "mcp_approval_request": _Transcript.managed,
    "mcp_approval_response": _Transcript.approval,
    "item_reference": _Transcript.reference,
}


def _run(item: Fields) -> str | None:
    return ids.run_of_item(item.text("id") or "")


def _holds(answer: _Answer) -> bool:
    return bool(any(answer.said) or answer.calls or answer.asides)
