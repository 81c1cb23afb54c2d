"""Calls that are locked instead of claimed, and the ledger that only grows."""

import asyncio
import uuid
from contextlib import suppress

import psycopg
import pytest

from audit.calls import begun, proposing, recorder
from audit.calls.recorder import Failure, Outcome
from tenants.scope.transactions import transaction
from tests.audit.calls import new_call, place, success
from tests.audit.recorded import commitments_of, entries_of, in_status, kinds_of, row_of, withdraw
from tests.database import rows, waited_for
from tests.people import Cast, Person
from tests.waiting import eventually


# --- locked instead of claimed ---------------------------------------------------------------------------------------
async def test_a_locked_call_is_settled_with_its_effect_in_one_commit(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as held:
        assert held is not None
        assert (held.call.fence, held.call.attempt, held.call.status) == (1, 1, "queued")
        await held.connection.execute(
            "INSERT INTO notes (id, tenant_id, user_id, title, content, tags) VALUES (%s, %s, %s, 'a', 'b', '{}')",
            [call["id"], *tenant.alice.scope],
        )
        assert row_of(call["id"]) == call
        await held.settle(success())
    after = row_of(call["id"])
    assert (after["status"], after["fence"], after["attempt"], after["lease_until"]) == ("success", 1, 1, None)
    assert after["queued_at"] <= after["started_at"] <= after["finished_at"]
    assert commitments_of(after) == [bytes(entry["commitment"]) for entry in entries_of(call["id"])]
    assert len(rows("SELECT id FROM notes WHERE id = %(id)s", id=call["id"])) == 1


async def test_a_locked_call_that_is_not_settled_is_as_it_was(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    with suppress(ZeroDivisionError):
        async with begun.locked(tenant.alice.scope, call["id"], None, 15) as held:
            raise ZeroDivisionError
    assert held is not None
    assert row_of(call["id"]) == call
    # What went wrong is recorded afterwards, and so is the attempt.
    assert await begun.settle(None, held.call, Outcome(failure=Failure("execution_error", "It failed.")))
    after = row_of(call["id"])
    assert (after["status"], after["attempt"], after["fence"]) == ("error", 1, 1)
    assert after["started_at"] == held.call.started_at
    assert commitments_of(after) == [bytes(entry["commitment"]) for entry in entries_of(call["id"])]


async def test_while_a_call_is_locked_nobody_else_takes_withdraws_or_resends_it(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as held:
        assert held is not None
        async with begun.locked(tenant.alice.scope, call["id"], None, 15) as second:
            assert second is None
        async with transaction(tenant.alice.scope) as connection:
            assert await withdraw(connection, call) == []
            assert await recorder.resend(connection, call["id"]) is False
        await held.settle(success())
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as late:
        assert late is None
    assert row_of(call["id"])["status"] == "success"
    assert kinds_of(call["id"]) == ["proposed", "settled"]


async def test_of_two_attempts_that_were_rolled_back_one_settles(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as first:
        pass
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as second:
        assert first is not None and second is not None
        await second.settle(success())
    assert not await begun.settle(None, first.call, Outcome(failure=Failure("timeout", "Late.")))
    assert not await begun.requeue(None, first.call)
    assert (row_of(call["id"])["status"], kinds_of(call["id"])) == ("success", ["proposed", "settled"])


async def test_an_attempt_that_goes_back_to_the_queue_counts(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as held:
        assert held is not None
    assert await begun.requeue(None, held.call)
    after = row_of(call["id"])
    assert (after["status"], after["attempt"], after["fence"], after["started_at"]) == (
        *("queued", 1, 1),
        held.call.started_at,
    )
    assert after["queued_at"] > call["queued_at"]


async def test_a_claimed_call_is_locked_under_its_fence_only(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "running")
    async with begun.locked(tenant.alice.scope, call["id"], call["fence"] - 1, 15) as old:
        assert old is None
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as queued:
        assert queued is None
    async with begun.locked(tenant.alice.scope, call["id"], call["fence"], 15) as held:
        assert held is not None
        assert (held.call.fence, held.call.attempt) == (1, 1)
        await held.settle(success())
    after = row_of(call["id"])
    assert (after["status"], after["started_at"]) == ("success", call["started_at"])
    assert commitments_of(after) == [bytes(entry["commitment"]) for entry in entries_of(call["id"])]


async def test_who_looks_at_a_claimed_call_for_a_moment_does_not_take_it_from_its_worker(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "running")

    async def lock() -> int | None:
        async with begun.locked(tenant.alice.scope, call["id"], call["fence"], 15) as held:
            return held and held.call.fence

    async with transaction(tenant.alice.scope) as connection:
        await connection.execute("SELECT FROM tool_calls WHERE id = %s FOR UPDATE", [call["id"]])
        locking = asyncio.create_task(lock())
        await eventually(lambda: locking.done() or waited_for(connection))
    assert await locking == call["fence"]


async def test_a_call_that_ends_while_its_worker_waits_for_it_is_not_its_own_any_more(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "running")

    async def lock() -> object:
        async with begun.locked(tenant.alice.scope, call["id"], call["fence"], 15) as held:
            return held

    async with transaction(tenant.alice.scope) as connection:
        await connection.execute("UPDATE tool_calls SET fence = fence + 1 WHERE id = %s", [call["id"]])
        locking = asyncio.create_task(lock())
        await eventually(lambda: locking.done() or waited_for(connection))
    assert await locking is None


async def test_postgresql_ends_the_transaction_of_a_worker_that_says_nothing_any_more(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "queued")
    async with begun.locked(tenant.alice.scope, call["id"], None, 0.2) as stopped:
        assert stopped is not None
        # No statement more: on a busy machine it would come too late.
        await eventually(lambda: _free(call["id"]))
        with pytest.raises(psycopg.Error):
            await stopped.settle(success())
    assert row_of(call["id"]) == call
    async with begun.locked(tenant.alice.scope, call["id"], None, 15) as held:
        assert held is not None
        await held.settle(success())
    assert kinds_of(call["id"]) == ["proposed", "settled"]


def _free(call_id: uuid.UUID) -> bool:
    return bool(rows("SELECT id FROM tool_calls WHERE id = %(id)s FOR UPDATE SKIP LOCKED", id=call_id))


@pytest.mark.parametrize("statement", ["UPDATE ledger_entries SET kind = 'decided'", "DELETE FROM ledger_entries",
                                       "UPDATE ledger_entries SET commitment = ''"])  # fmt: skip
async def test_the_ledger_is_append_only_even_for_the_owner(tenant: Cast, statement: str) -> None:
    call = await in_status(tenant.alice, "success")
    before = entries_of(call["id"])
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        rows(f"{statement} WHERE call_id = %(id)s RETURNING seq", id=call["id"])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        rows("WITH x AS (SELECT 1) SELECT 1 FROM x; TRUNCATE ledger_entries".partition("; ")[2])
    assert entries_of(call["id"]) == before


async def test_the_app_itself_may_neither_change_nor_delete_the_ledger(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "success")
    for statement in ("UPDATE ledger_entries SET kind = 'decided'", "DELETE FROM ledger_entries",
                      "TRUNCATE ledger_entries", "DELETE FROM tool_calls"):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(statement.encode())
    assert kinds_of(call["id"]) == ["proposed", "settled"]


async def test_a_ledger_that_cannot_be_written_stops_the_call(tenant: Cast, other_tenant: Cast) -> None:
    call = new_call()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        # As when the call belongs to another tenant than the transaction.
        await _propose(other_tenant.alice, tenant.alice, call)
    assert rows("SELECT id FROM tool_calls WHERE id = %(id)s", id=call.id) == []


async def _propose(within: Person, of: Person, call: proposing.NewCall) -> None:
    async with transaction(within.scope) as connection:
        await proposing.propose(connection, place(of), [call], frozenset([call.id]))
