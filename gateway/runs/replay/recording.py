"""A run as its rows record it, read in one moment within its user's scope, and the model's answers made of it again."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any, LiteralString

from approvals.requests import callers_rights
from approvals.requests import repository as approvals
from approvals.rows import ApprovalRequest
from gateway.providers.interface import Answer, Opaque, PromptMessage, SuggestedCall, Usage
from gateway.runs import preparation, reading
from gateway.runs.execution import Asked
from gateway.runs.rows import Run, RunCall, Turn
from tenants.scope import transactions
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Rights
from tools.invocation import naming

Row = dict[str, Any]

_WHOSE = """
    SELECT tenant_id, user_id FROM runs WHERE id = %s
    UNION ALL (SELECT tenant_id, user_id FROM tool_calls WHERE run_id = %s LIMIT 1) LIMIT 1"""
_DECISIONS = "SELECT * FROM approval_decisions WHERE call_id = ANY(%s) ORDER BY id"
_ANSWERS = "SELECT * FROM questions WHERE call_id = ANY(%s)"
_ENTRIES = "SELECT * FROM ledger_entries WHERE tenant_id = %s AND call_id = ANY(%s) ORDER BY seq"
_ANSWER = "SELECT content FROM messages WHERE id = %s"


class NoSuchRun(LookupError):
    """Neither the run nor any call of it is there."""


@dataclass(slots=True)
class Recording:
    """What is recorded of a run. Without `run`, it was deleted with its conversation, and only its calls are left.

    `shown`, `asked` and `transcript` are what it began with, `known` the rights that its user has now, `answer` the
    assistant's message, None when there is none.
    """

    scope: TenantScope
    run: Run | None
    calls: list[RunCall]
    requests: dict[uuid.UUID, ApprovalRequest]
    decisions: list[Row]
    answers: dict[uuid.UUID, Row]
    entries: list[Row]
    turns: list[Turn] = field(default_factory=list)
    shown: list[PromptMessage] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)
    transcript: tuple[PromptMessage, ...] = ()
    known: Rights | None = None
    answer: str | None = None

    def of_turn(self, number: int) -> list[RunCall]:
        """A turn's calls, in order."""
        return [call for call in self.calls if call.turn == number]

    def turn(self, number: int) -> Turn | None:
        """An answered turn."""
        return next((turn for turn in self.turns if turn.number == number), None)


async def load(run_id: uuid.UUID, *, driven: bool = True) -> Recording:
    """Read a run's record, in a transaction that cannot write; raises NoSuchRun.

    `driven` False leaves out what it takes to drive the run once more: what it began with, and rights.
    """
    whose = await transactions.fetch(_WHOSE, [run_id, run_id], login="operator")
    if not whose:
        raise NoSuchRun(run_id)
    scope = TenantScope(whose[0]["tenant_id"], whose[0]["user_id"])
    async with transaction(scope, snapshot=True) as connection:
        await connection.execute("SET TRANSACTION READ ONLY")
        run = await reading.run(connection, scope, run_id)
        calls = await reading.calls(connection, run_id)
        ids = [call.id for call in calls]
        found = Recording(
            scope,
            run,
            calls,
            {each.id: each for each in await approvals.of_run(connection, run_id)},
            await _all(connection, _DECISIONS, ids),
            {row["id"]: row for row in await _all(connection, _ANSWERS, ids)},
            await _all(connection, _ENTRIES, scope.tenant_id, ids),
        )
        if run is not None:
            found.turns = await reading.turns(connection, run_id)
        if run is not None and driven:
            found.shown, found.asked, found.transcript = await preparation.led_up_to(connection, scope, run)
            found.known = await callers_rights.load(connection, scope.user_id, run.profile)
            said = await _all(connection, _ANSWER, run.message_id)
            found.answer = said[0]["content"] if said else None
    return found


async def _all(connection: Connection, query: LiteralString, *values: Any) -> list[Row]:
    return await (await connection.execute(query, values)).fetchall()


def answer_of(turn: Turn, calls: list[RunCall]) -> Answer:
    """What the model answered in a turn, out of its row and its calls'."""
    details = turn.details
    through = frozenset(details.get("through", ()))
    suggested: list[SuggestedCall] = []
    for call in calls:
        made = call.tool_name, arguments_of(call)
        suggested.append(SuggestedCall(call.id.hex, *(naming.wrapped(*made) if call.position in through else made)))
    suggested += [SuggestedCall(*each) for each in details.get("client_calls", ())]
    for at, call_id, name, arguments in details.get("left_out", ()):
        suggested.insert(at, SuggestedCall(call_id, name, arguments))
    return Answer(
        turn.text,
        tuple(suggested),
        turn.finish_reason,
        Usage(
            turn.input_tokens,
            turn.output_tokens,
            details.get("cached_tokens", 0),
            details.get("reasoning_tokens", 0),
        ),
        details.get("stop_sequence"),
        tuple(Opaque(family, raw) for family, raw in details.get("opaque", ())),
        details.get("extra", {}),
    )


def arguments_of(call: RunCall) -> str:
    """The text of a call's arguments: as the model sent it where that was no JSON, else JSON that says the same."""
    return call.input_raw if call.input_raw is not None else json.dumps(call.input)
