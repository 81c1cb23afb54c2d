"""Each settled call is counted once, for its user and for its tenant."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from audit.calls import begun, proposing
from audit.calls.recorder import Failure, Outcome
from audit.log import counting, sealing
from tenants.scope.transactions import transaction
from tests.audit import logs
from tests.audit.calls import REFUSED, new_call, place
from tests.database import rows
from tests.people import Cast, Person


async def _ran(person: Person, milliseconds: int | None, *, failure: Failure | None = None, **call: Any) -> None:
    new = new_call(**call)
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [new], frozenset([new.id]))
        claimed = await begun.claim(connection, person.scope, new.id, 15)
        assert claimed is not None
        outcome = Outcome(failure=failure, output={} if failure is None else None, execution_time_ms=milliseconds)
        assert await begun.settle(connection, claimed, outcome)


def _counts(user_id: uuid.UUID | None, tenant_id: uuid.UUID, tool: str = "save_note") -> dict[str, int]:
    """What is counted, as far as it is not nothing."""
    found = rows(
        "SELECT * FROM tool_call_counts WHERE tenant_id = %(t)s AND user_id IS NOT DISTINCT FROM %(u)s"
        " AND tool_name = %(n)s",
        t=tenant_id, u=user_id, n=tool,
    )  # fmt: skip
    total: dict[str, int] = {}
    for row in found:
        for name, value in row.items():
            if name not in ("id", "tenant_id", "user_id", "hour", "tool_name") and value:
                total[name] = total.get(name, 0) + value
    return total


async def test_every_outcome_is_counted_where_it_belongs(people: Cast) -> None:
    alice = people.alice
    await _ran(alice, 10)
    await _ran(alice, 11)
    await _ran(alice, 30_001)
    await _ran(alice, 300, failure=Failure("timeout", "Too slow."))
    await logs.write_calls(alice, 2)
    await _ran(people.bob, 0)
    await sealing.seal()
    of_alice = {"calls": 6, "succeeded": 3, "refused": 2, "failed": 1, "timed": 4, "total_ms": 30_322,
                "ms_10": 1, "ms_30": 1, "ms_300": 1, "ms_more": 1}  # fmt: skip
    assert _counts(alice.scope.user_id, people.id) == of_alice
    assert _counts(people.bob.scope.user_id, people.id) == {"calls": 1, "succeeded": 1, "timed": 1, "ms_10": 1}
    assert _counts(None, people.id) == of_alice | {"calls": 7, "succeeded": 4, "timed": 5, "ms_10": 2}


async def test_a_call_is_counted_when_its_end_is_sealed_and_never_again(people: Cast) -> None:
    call = new_call()
    async with transaction(people.alice.scope) as connection:
        await proposing.propose(connection, place(people.alice), [call], frozenset([call.id]))
    await sealing.seal()
    assert rows("SELECT * FROM tool_call_counts") == []
    async with transaction(people.alice.scope) as connection:
        claimed = await begun.claim(connection, people.alice.scope, call.id, 15)
        assert claimed is not None
        await begun.settle(connection, claimed, Outcome(output={}, execution_time_ms=5))
    for _ in range(3):
        await sealing.seal()
    assert _counts(None, people.id) == {"calls": 1, "succeeded": 1, "timed": 1, "total_ms": 5, "ms_10": 1}


async def test_names_that_are_no_tools_share_one_count(people: Cast) -> None:
    for name in ("made_up", "made_up_too"):
        calls = [new_call(0, REFUSED, tool_name=name, tier=None)]
        async with transaction(people.alice.scope) as connection:
            await proposing.propose(connection, place(people.alice), calls, frozenset())
    await sealing.seal()
    assert _counts(None, people.id, "") == {"calls": 2, "refused": 2}
    assert _counts(None, people.id, "made_up") == {}


async def test_a_call_counts_in_the_hour_in_which_it_ended(people: Cast) -> None:
    await _ran(people.alice, 1)
    await _ran(people.alice, 1)
    [first, _] = rows("SELECT id FROM tool_calls ORDER BY id")
    logs.as_owner(f"UPDATE tool_calls SET finished_at = '2026-03-01 09:59:59.999999+00' WHERE id = '{first['id']}'")
    await sealing.seal()
    hours = {row["hour"] for row in rows("SELECT hour FROM tool_call_counts")}
    assert datetime(2026, 3, 1, 9, tzinfo=UTC) in hours
    assert len(hours) == 2
    assert all((hour.minute, hour.second, hour.microsecond) == (0, 0, 0) for hour in hours)


async def test_a_seal_that_is_rolled_back_has_counted_nothing(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    await _ran(people.alice, 1)
    count = counting.count

    async def cut(*values: Any) -> None:
        await count(*values)
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(counting, "count", cut)
        with pytest.raises(ZeroDivisionError):
            await sealing.seal()
    assert rows("SELECT * FROM tool_call_counts") == []
    await sealing.seal()
    assert _counts(None, people.id)["calls"] == 1
