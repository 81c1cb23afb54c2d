"""Hidden rounds put back into the transcripts of stateless clients.

A client of a compatible API sends what it saw, and managed calls were not among it. When a run ends, the digest of the
transcript up to its visible answer is kept beside the run. A later transcript that holds the same answer after the same
messages gets the run's real turns in its place: what the model said, what it called, and what it was told. What is not
recognised (an edited transcript, results of the client's own tools) passes as it is.

Digests are looked up in a personal table, so that no transcript leads to another user's run. System messages are not
covered, since clients change them as they go, and neither is white space, since libraries do.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson

from gateway.providers.interface import (
    AssistantMessage,
    Document,
    Image,
    Part,
    PromptMessage,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)
from gateway.runs import reading
from gateway.runs.execution import RunExecution
from gateway.runs.prompting import messages as prompts
from gateway.runs.rows import Run, RunCall
from gateway.runs.view import TurnView, turn_views
from tenants.scope import rows
from tenants.scope.transactions import Connection

RETENTION_DAYS = 30
# Transcripts may be long; what is looked up and put back is the newest part.
MOST_ANSWERS = 200
NOBODY: Mapping[int, Run] = MappingProxyType({})

_REMEMBER = "SELECT remember_answer(%s, %s, %s, %s)"
_FIND = """
    SELECT r.id, r.conversation_id, r.profile, c.digest FROM continuations c JOIN runs r ON r.id = c.run_id
    WHERE c.user_id = %s AND c.digest = ANY(%s) AND c.created_at > now() - make_interval(days => %s)"""
FORGET = "DELETE FROM continuations WHERE created_at < now() - make_interval(days => %s) RETURNING id"


@dataclass(frozen=True, slots=True)
class _Known:
    """The run that made an answer, and the digest of the transcript up to it."""

    id: uuid.UUID
    conversation_id: uuid.UUID
    profile: dict[str, Any]
    digest: bytes


def visible(turns: Iterable[TurnView], notice: str = "") -> AssistantMessage:
    """A run's answer as its client sees it: what was said in all turns, and the calls of the client's own tools."""
    views = list(turns)
    said = [turn.text for turn in views if turn.text]
    return AssistantMessage("\n\n".join([*said, notice] if notice else said), views[-1].client_calls if views else ())


def notice(calls: Iterable[RunCall], asking: Iterable[RunCall] = (), below: Iterable[Mapping[str, Any]] = ()) -> str:
    """What is said in the assistant's place when a run waits for humans to decide about the first calls, and about the
    requests of the runs below it, and for its own user to answer the others."""
    named = [f"{call.tool_name} (approval {call.approval_id})" for call in calls]
    named += [f"{each['tool']} (approval {each['id']})" for each in below]
    asked = [
        f"{each['message']} ({call.tool_name}, question {each['id']})"
        for call in asking
        for each in call.pending_questions
    ]
    said = []
    if named:
        said.append(
            f"A human has to approve this before it runs: {', '.join(named)}. "
            "It has not run; ask again once it is decided, and the result will be known."
        )
    if asked:
        said.append(
            f"You are asked for an answer: {'; '.join(asked)}. "
            "Answer it in Toolgate, then ask again, and the result will be known."
        )
    return "\n\n".join(said)


async def remember(connection: Connection, execution: RunExecution, last: TurnView, notice: str = "") -> None:
    """Keep the way from the transcript with this answer to its run, in the transaction that commits the answer."""
    if (digest := way_back(execution, last, notice)) is not None:
        await connection.execute(_REMEMBER, [*execution.scope, execution.view.id, digest])


def way_back(execution: RunExecution, last: TurnView, notice: str = "") -> bytes | None:
    """The digest of the transcript with this answer; None for a run whose client sends no transcripts."""
    if not execution.view.run.surface:
        return None
    before = _digests(execution.transcript)
    answer = visible([*execution.view.turns[: last.number - 1], last], notice)
    return _chained(before[-1] if before else b"", answer)


def goes_on(messages: Sequence[PromptMessage]) -> bool:
    """Whether a transcript holds answers, which runs may be found by."""
    return any(isinstance(message, AssistantMessage) for message in messages)


async def restored(
    connection: Connection | None,
    user_id: uuid.UUID,
    messages: Sequence[PromptMessage],
    named: Mapping[int, Run] = NOBODY,
) -> tuple[list[PromptMessage], uuid.UUID | None]:
    """The transcript with hidden rounds put back, newest first as far as there is room, and the conversation that it
    goes on, if it is known. `named` are the rows of runs whose answers the client named itself, by their place. Without
    answers among the messages nothing is read, and no connection is needed."""
    answers = [at for at, message in enumerate(messages) if isinstance(message, AssistantMessage)][-MOST_ANSWERS:]
    if not answers:
        return list(messages), None
    assert connection is not None
    digests = _digests(messages)
    asked = [user_id, [digests[at] for at in answers], RETENTION_DAYS]
    by_digest = {known.digest: known for known in await rows.every(connection, _Known, _FIND, asked)}
    found: dict[int, _Known | Run] = {at: by_digest[digests[at]] for at in answers if digests[at] in by_digest}
    found |= {at: run for at, run in named.items() if at >= answers[0]}
    turns = await _turns(connection, list({run.id for run in found.values()}))
    shown = list(messages)
    room = prompts.MOST_CHARACTERS
    conversation: uuid.UUID | None = None
    for at in reversed(answers):
        run = found.get(at)
        if run is None:
            continue
        conversation = conversation or run.conversation_id
        rounds = _rounds(turns[run.id], messages[at], run.profile["max_result_bytes"])
        room -= sum(map(prompts.size, rounds))
        if room < 0:
            break
        shown[at : at + 1] = rounds
    return shown, conversation


async def _turns(connection: Connection, run_ids: list[uuid.UUID]) -> dict[uuid.UUID, list[TurnView]]:
    if not run_ids:
        return {}
    turns, calls = await reading.of_runs(connection, run_ids)
    return {
        run_id: turn_views(
            [turn for turn in turns if turn.run_id == run_id],
            [call for call in calls if call.run_id == run_id],
        )
        for run_id in run_ids
    }


def _rounds(turns: list[TurnView], seen: PromptMessage, limit: int) -> list[PromptMessage]:
    """The run's turns as they were; of the last one, the client's own calls as the client sends them."""
    assert isinstance(seen, AssistantMessage)
    rounds = prompts.of_turns(turns, limit)
    if seen.calls and turns:
        last = turns[-1]
        if not last.calls and rounds and isinstance(rounds[-1], AssistantMessage):
            rounds.pop()
        rounds.append(AssistantMessage(last.text, seen.calls, last.opaque or seen.opaque))
    return rounds


# --- digests ---------------------------------------------------------------------------------------------------------
def _digests(messages: Sequence[PromptMessage]) -> list[bytes]:
    """For each message the digest of the transcript up to and including it."""
    digests: list[bytes] = []
    digest = b""
    for message in messages:
        if not isinstance(message, SystemMessage):
            digest = _chained(digest, message)
        digests.append(digest)
    return digests


def _chained(before: bytes, message: PromptMessage) -> bytes:
    return hashlib.sha256(before + orjson.dumps(_essence(message))).digest()


def _essence(message: PromptMessage) -> list[Any]:
    """What of a message clients send back as they got it; ids of calls are not, in the oldest dialect."""
    if isinstance(message, AssistantMessage):
        return ["assistant", _bare(message.text), [_call(call) for call in message.calls]]
    if isinstance(message, ToolMessage):
        return ["tool", _bare(message.content), [_part(part) for part in message.parts]]
    if isinstance(message, UserMessage):
        return ["user", _bare(message.text), [_part(part) for part in message.parts if not isinstance(part, Text)]]
    return []


def _bare(text: str) -> str:
    return "".join(text.split())


def _call(call: SuggestedCall) -> list[str]:
    try:
        arguments = orjson.dumps(orjson.loads(call.arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        arguments = _bare(call.arguments)
    return [call.name, arguments]


def _part(part: Part) -> list[str]:
    if isinstance(part, Image):
        return ["image", part.media_type, hashlib.sha256((part.data or part.url).encode()).hexdigest()]
    if isinstance(part, Document):
        return ["document", part.media_type, hashlib.sha256(part.data.encode()).hexdigest()]
    if isinstance(part, Text):
        return ["text", _bare(part.text)]
    return [part.family, hashlib.sha256(orjson.dumps(part.raw, option=orjson.OPT_SORT_KEYS)).hexdigest()]
