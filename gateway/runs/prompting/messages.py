"""What the model is shown: the conversation so far with its tool rounds, and the results of this run's calls."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

import orjson

from gateway.providers.interface import (
    AssistantMessage,
    Document,
    Image,
    Opaque,
    Part,
    PromptMessage,
    SuggestedCall,
    ToolMessage,
    UserMessage,
)
from gateway.runs.prompting import attachments
from gateway.runs.rows import PastRun, PastTurn, RunCall, storable
from gateway.runs.view import RunView, TurnView
from tools.invocation import naming, results
from tools.invocation.in_worker.outcomes import MAX_OUTPUT_BYTES
from tools.registry import registry

ERASED = "What this call answered has been erased."
# What an approver is shown of the conversation: the last messages, each up to so many characters.
LED_UP_MESSAGES = 6
LED_UP_CHARACTERS = 2_000
_MOST_NAME = 200
# Earlier runs are shown whole, newest first, until one of these is reached.
MOST_RUNS = 50
MOST_CHARACTERS = 400_000
_NOTHING: Mapping[uuid.UUID, tuple[Part, ...]] = MappingProxyType({})


def call_id(call_id: uuid.UUID) -> str:
    """A call's id towards the provider: ours, since a model may use one twice."""
    return f"call_{call_id.hex}"


def result(call: RunCall, limit: int) -> str:
    """What the model is told of a call, as JSON text of about `limit` bytes at most."""
    if _erased(call):
        return results.success(ERASED) if call.status == "success" else results.failure(call.error_code or "", ERASED)
    if call.status == "success":
        output, size = call.output, call.output_bytes or 0
        if size > MAX_OUTPUT_BYTES:
            # Only the beginning was kept, as text.
            beginning = output["data"].encode()[:limit].decode("utf-8", "ignore")
            whole = {"ok": True, "data": beginning, "truncated": True, "original_bytes": size}
            return orjson.dumps(whole).decode()
        return results.success(output, limit, call.approved_input)
    if call.status == "awaiting_approval":
        return results.failure("approval_pending", "A human has not decided about this call yet; it has not run.")
    if call.status != "error":
        return results.failure("in_progress", "This call has not ended yet; its outcome will be in the tool history.")
    code = call.error_code or ""
    tool = registry().get(call.tool_name) if code == "validation_error" else None
    schema = tool.parameters if tool is not None else None
    return results.failure(code, call.error_message or "", call.error_field, schema, limit)


def of_turn(
    text: str,
    calls: list[RunCall],
    limit: int,
    opaque: tuple[Opaque, ...] = (),
    through: Collection[int] = (),
) -> list[PromptMessage]:
    """A turn as the model is shown it later: its answer, then the results of its calls.

    Those `through` tools_call, by their places, are shown as the model made them.
    """
    if not calls:
        return [AssistantMessage(text, opaque=opaque)] if text or opaque else []
    suggested: list[SuggestedCall] = []
    messages: list[ToolMessage] = []
    for call in calls:
        name, arguments = call.tool_name, _arguments(call)
        if call.position in through:
            name, arguments = naming.wrapped(name, arguments)
        suggested.append(SuggestedCall(call_id(call.id), name, arguments))
        messages.append(ToolMessage(call_id(call.id), name, result(call, limit)))
    return [AssistantMessage(text, tuple(suggested), opaque), *messages]


def _arguments(call: RunCall) -> str:
    """The arguments as the model wrote them, as JSON text; an erased call's are none."""
    if call.input is None and call.input_raw:
        return str(call.input_raw)
    return "{}" if _erased(call) else orjson.dumps(call.input).decode()


def _erased(call: RunCall) -> bool:
    """Whether the call's payload has been erased: its key goes with it, and nothing else takes the key away."""
    return call.row_key is None


def of_turns(turns: Iterable[TurnView], limit: int) -> list[PromptMessage]:
    """A run's answered turns."""
    return list(chain.from_iterable(of_turn(turn.text, turn.calls, limit, turn.opaque, turn.through) for turn in turns))


def led_up_to(shown: list[PromptMessage], view: RunView) -> list[dict[str, Any]]:
    """What the conversation led up to, for who decides about a call: `{role, text, cut}`, `cut` characters left out.

    With `attached`, `{name, media_type}` of each picture and document, where a message brought any along; and with
    `by_person: false` where another run wrote the message in the user's place.
    """
    said: list[tuple[str, str, dict[str, Any]]] = []
    task = next((each for each in reversed(shown) if isinstance(each, UserMessage)), None)
    for message in shown:
        if isinstance(message, UserMessage):
            is_persons = message.by_person and (message is not task or view.run.parent_run_id is None)
            said.append(("user", message.text, _besides(message, is_persons)))
        elif isinstance(message, AssistantMessage):
            said.append(("assistant", message.text, {}))
    said += [("assistant", turn.text, {}) for turn in view.turns]
    worth = [each for each in said if each[1].strip() or "attached" in each[2]]
    return [
        {"role": role, "text": text[:LED_UP_CHARACTERS], "cut": max(0, len(text) - LED_UP_CHARACTERS)} | besides
        for role, text, besides in worth[-LED_UP_MESSAGES:]
    ]


def _besides(message: UserMessage, is_persons: bool) -> dict[str, Any]:
    brought = _brought(message.parts)
    return ({"attached": brought} if brought else {}) | ({} if is_persons else {"by_person": False})


def _brought(parts: Iterable[Part]) -> list[dict[str, str]]:
    found = (part for part in parts if isinstance(part, Image | Document))
    return [
        {"name": storable(part.name)[:_MOST_NAME], "media_type": storable(part.media_type)[:_MOST_NAME]}
        for part in found
    ]


def of_past(
    runs: list[PastRun],
    turns: list[PastTurn],
    calls: list[RunCall],
    limit: int,
    attached: Mapping[uuid.UUID, tuple[Part, ...]] = _NOTHING,
) -> list[PromptMessage]:
    """Earlier runs (newest first) as messages in order, with what was attached to them; the oldest are dropped whole
    when all are too long."""
    turns_of: dict[uuid.UUID, list[PastTurn]] = defaultdict(list)
    calls_of: dict[tuple[uuid.UUID, int], list[RunCall]] = defaultdict(list)
    for turn in turns:
        turns_of[turn.run_id].append(turn)
    for call in calls:
        calls_of[call.run_id, call.turn].append(call)
    shown: list[list[PromptMessage]] = []
    room = MOST_CHARACTERS
    for run in runs:
        messages: list[PromptMessage] = [
            attachments.said(run.content, attached.get(run.id, ()), by_person=run.by_person)
        ]
        for turn in turns_of[run.id]:
            messages += of_turn(turn.text, calls_of[run.id, turn.number], limit)
        room -= sum(map(size, messages))
        if room < 0 and shown:
            break
        shown.append(messages)
    return list(chain.from_iterable(reversed(shown)))


def size(message: PromptMessage) -> int:
    """About how many characters a message takes in a prompt."""
    if isinstance(message, ToolMessage):
        return len(message.content)
    if isinstance(message, AssistantMessage):
        return len(message.text) + sum(len(call.arguments) for call in message.calls)
    return len(message.text)
