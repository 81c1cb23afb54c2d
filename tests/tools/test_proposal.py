"""Calls are recorded by the rights and rules that hold when they are recorded, or evaluated again."""

import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from approvals.rules.evaluation import Rule
from audit.calls.proposing import NewCall, Place
from audit.identifiers import uuid7
from tools.gates import order, policy
from tools.gates.interface import Caller, Rights, RightsChanged, RulesExhausted
from tools.gates.policy import Setting
from tools.interface import Tier
from tools.invocation.dispatch import QueuedCall
from tools.invocation.evaluation import Suggestion
from tools.invocation.proposal import Proposal, Proposed, propose

TENANT, USER = uuid.UUID(int=1), uuid.UUID(int=2)
OPEN = Rights(replace(policy.from_row(None, "all"), role="member", ceiling=Tier.ELEVATED), ())
CLOSED = Rights(replace(OPEN.policy, settings={"list_tasks": Setting(enabled=False)}), ())


class Rows:
    """The rows, and the rights that each look at them finds: the last one from then on."""

    def __init__(self, *rights: Rights, exhausted: int = 0) -> None:
        self._rights = list(rights)
        self.exhausted = exhausted
        self.proposed: list[NewCall] = []
        self.order: list[str] = []
        self.sent: list[QueuedCall] = []

    @asynccontextmanager
    async def step(self, alone: bool) -> AsyncIterator["Rows"]:
        """A transaction: what it proposed goes when it fails."""
        before = list(self.proposed)
        try:
            yield self
        except BaseException:
            self.proposed = before
            raise

    async def rights(self) -> Rights:
        """The next ones."""
        return self._rights.pop(0) if len(self._rights) > 1 else self._rights[0]

    async def propose(
        self, place: Place, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> Any:
        """Keep the calls, unless the next look finds other rights."""
        if await self.rights() != rights:
            raise RightsChanged
        self.order.append("propose")
        self.proposed += evaluated
        return evaluated

    async def use_rules(self, rule_ids: Iterable[str]) -> None:
        """Fail as often as was asked for."""
        if self.exhausted:
            self.exhausted -= 1
            raise RulesExhausted

    async def ask_humans(self, place: Place, held: Sequence[NewCall], policy: Any, **more: Any) -> Any:
        """Nobody is asked here."""
        raise AssertionError

    async def dispatch(self, calls: Sequence[QueuedCall]) -> None:
        """Keep what was sent."""
        self.order.append("dispatch")
        self.sent += calls


LISTS = Suggestion("list_tasks", "{}")


async def _proposed(
    rows: Rows, rights: Rights | None = None, record: Any = None, suggestion: Suggestion = LISTS
) -> Proposed:
    place = Place(TENANT, USER, origin="api")

    async def alone(step: Rows, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights) -> Any:
        rows.order.append("record")
        return await step.propose(place, evaluated, queued, rights)

    async def publish(events: Any) -> None:
        raise AssertionError

    proposal = Proposal(
        suggestions=[suggestion], place=place,
        caller=Caller(TENANT, USER, charged=True), step=rows.step, gates=order.new_call, new_id=uuid7,
        record=record or alone, committed=lambda proposed: rows.order.append("committed"), context=list,
        dispatch=rows.dispatch, publish=publish, earlier_failures=None, most_seconds=30,
    )  # fmt: skip
    return await propose(proposal, rights)


async def test_what_is_sent_was_committed_before() -> None:
    rows = Rows(OPEN)
    proposed = await _proposed(rows)
    assert rows.order == ["record", "propose", "committed", "dispatch"]
    [call] = rows.proposed
    assert call.refusal is None
    assert rows.sent == [(TENANT, USER, call.id, "list_tasks")]
    assert (proposed.queued, proposed.rights) == (frozenset({call.id}), OPEN)


@pytest.mark.parametrize("known", [None, OPEN])
async def test_rights_that_change_before_the_commit_are_what_counts(known: Rights | None) -> None:
    rows = Rows(OPEN, CLOSED) if known is None else Rows(CLOSED)
    proposed = await _proposed(rows, known)
    [call] = rows.proposed
    assert call.refusal is not None and call.refusal.code == "not_allowed"
    assert (rows.sent, proposed.rights) == ([], CLOSED)


async def test_when_a_rule_is_used_up_nothing_is_recorded_and_everything_is_evaluated_again() -> None:
    rule = Rule(str(uuid.uuid4()), "reminders", "approve", "send_email", "", None, 1)
    rows = Rows(replace(OPEN, rules=(rule,)), exhausted=2)
    await _proposed(rows, suggestion=Suggestion("send_email", '{"to": "a@b.example", "subject": "a", "body": "b"}'))
    assert rows.order == ["record", "propose"] * 3 + ["committed", "dispatch"]
    assert len(rows.proposed) == 1


async def test_what_else_belongs_into_the_commit_can_keep_everything_out() -> None:
    rows = Rows(OPEN)

    async def lost(step: Rows, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights) -> Any:
        await step.propose(Place(TENANT, USER, origin="api"), evaluated, queued, rights)
        raise LookupError

    with pytest.raises(LookupError):
        await _proposed(rows, record=lost)
    assert (rows.proposed, rows.sent, rows.order) == ([], [], ["propose"])
