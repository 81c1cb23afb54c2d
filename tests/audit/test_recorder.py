"""Every arrow of a call's state machine, and everything that is no arrow."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

import psycopg
import pytest

from audit.calls import begun, ledger, proposing, recorder
from audit.calls.recorder import Failure, Outcome
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tenants.scope.transactions import TenantScope, transaction
from tests.audit.calls import REFUSED, as_call, new_call, place, success
from tests.audit.recorded import Row, commitments_of, entries_of, in_status, kinds_of, row_of, withdraw
from tests.database import rows
from tests.people import Cast, Person


async def _enqueue(connection: recorder.Connection, call: Row) -> object:
    return await recorder.enqueue(connection, [call["id"]])


async def _claim(connection: recorder.Connection, call: Row) -> object:
    return await begun.claim(connection, TenantScope(call["tenant_id"], call["user_id"]), call["id"], 15)


async def _requeue(connection: recorder.Connection, call: Row) -> object:
    return await begun.requeue(connection, as_call(call))


async def _settle(connection: recorder.Connection, call: Row) -> object:
    return await begun.settle(connection, as_call(call), success())


async def _edit(connection: recorder.Connection, call: Row) -> object:
    return await recorder.edit(connection, call["id"], EDITED, sha256_hex(EDITED))


async def _resume(connection: recorder.Connection, call: Row) -> object:
    return await recorder.resume(connection, call["id"], PASSED_AGAIN)


async def _refuse(connection: recorder.Connection, call: Row) -> object:
    return await recorder.refuse(
        connection, as_call(call), Failure("approval_denied", "A human denied it."), PASSED_AGAIN
    )


EDITED = {"title": "Milk", "content": "Three litres"}


PASSED_AGAIN = [{"gate": "allowlist", "ok": True}, {"gate": "binding", "ok": True}]


Move = Callable[[recorder.Connection, Row], Awaitable[object]]


MOVES: dict[str, Move] = {
    "enqueue": _enqueue, "claim": _claim, "requeue": _requeue, "settle": _settle,
    "withdraw": withdraw, "edit": _edit, "resume": _resume, "refuse": _refuse,
}  # fmt: skip


STATUSES = ["proposed", "awaiting_approval", "queued", "claimed", "running", "success", "error"]


ARROWS = {
    ("proposed", "enqueue"): "queued",
    ("queued", "claim"): "running",
    ("claimed", "requeue"): "queued",
    ("running", "requeue"): "queued",
    ("claimed", "settle"): "success",
    ("running", "settle"): "success",
    ("proposed", "withdraw"): "error",
    ("awaiting_approval", "withdraw"): "error",
    ("queued", "withdraw"): "error",
    ("awaiting_approval", "edit"): "awaiting_approval",
    ("awaiting_approval", "resume"): "queued",
    ("awaiting_approval", "refuse"): "error",
}


# What else than its status an arrow of a waiting call writes.
WRITTEN = {
    "edit": {"approved_input": EDITED, "approved_params_hash": sha256_hex(EDITED)},
    "resume": {"resumed_decision": PASSED_AGAIN, "approved_input": None},
    "refuse": {"resumed_decision": PASSED_AGAIN, "error_code": "approval_denied", "attempt": 0, "started_at": None},
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("status", STATUSES)
async def test_an_arrow_is_taken_and_everything_else_changes_nothing(tenant: Cast, status: str, move: str) -> None:
    call = await in_status(tenant.alice, status)
    kinds = kinds_of(call["id"])
    async with transaction(tenant.alice.scope) as connection:
        moved = await MOVES[move](connection, call)
    target = ARROWS.get((status, move))
    if target is None:
        assert not moved
        assert row_of(call["id"]) == call
        assert kinds_of(call["id"]) == kinds
    else:
        assert moved
        after = row_of(call["id"])
        assert after["status"] == target
        written = WRITTEN.get(move, {})
        assert {name: after[name] for name in written} == written
        settled = ["settled"] if target in ("success", "error") else []
        assert kinds_of(call["id"]) == ["proposed", *settled]


@pytest.mark.parametrize("move", ["enqueue", "edit", "resume", "refuse"])
async def test_of_two_that_move_a_waiting_call_one_does(tenant: Cast, move: str) -> None:
    status = "proposed" if move == "enqueue" else "awaiting_approval"
    call = await in_status(tenant.alice, status)
    other = "enqueue" if move == "enqueue" else "resume"
    together = asyncio.Barrier(2)

    async def go(name: str) -> object:
        async with transaction(tenant.alice.scope) as connection:
            await together.wait()
            return await MOVES[name](connection, call)

    moved = [bool(each) for each in await asyncio.gather(go(move), go(other))]
    # An edit leaves the call waiting: both may come through, but never an edit after the call has gone on.
    assert moved in ([True, True], [False, True]) if move == "edit" else sorted(moved) == [False, True]
    settled = ["settled"] if row_of(call["id"])["status"] == "error" else []
    assert kinds_of(call["id"]) == ["proposed", *settled]


async def test_what_a_human_decides_is_an_entry_and_moves_nothing(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "awaiting_approval")
    decision = {
        "id": uuid7(), "tenant_id": tenant.id, "request_id": call["approval_id"], "call_id": call["id"],
        "user_id": tenant.carol.scope.user_id, "verdict": "approve", "reason": "Bob waits.", "via": "api",
        "params_hash": call["params_hash"], "edit": None, "created_at": datetime.now(UTC),
    }  # fmt: skip
    async with transaction(tenant.carol.scope) as connection:
        await recorder.decide(connection, as_call(call), decision)
    assert row_of(call["id"]) == call
    assert kinds_of(call["id"]) == ["proposed", "decided"]
    made = ledger.commitment(bytes(call["row_key"]), ledger.decided(decision))
    assert bytes(entries_of(call["id"])[1]["commitment"]) == made
    assert entries_of(call["id"])[1]["record_id"] == decision["id"]


async def test_another_tenant_decides_nothing(tenant: Cast, other_tenant: Cast) -> None:
    call = await in_status(tenant.alice, "awaiting_approval")
    decision = {
        "id": uuid7(), "tenant_id": tenant.id, "request_id": call["approval_id"], "call_id": call["id"],
        "user_id": other_tenant.carol.scope.user_id, "verdict": "approve", "reason": "", "via": "api",
        "params_hash": call["params_hash"], "edit": None, "created_at": datetime.now(UTC),
    }  # fmt: skip
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await _decide(other_tenant.carol, call, decision)
    assert kinds_of(call["id"]) == ["proposed"]


async def _decide(person: Person, call: Row, decision: Row) -> None:
    async with transaction(person.scope) as connection:
        await recorder.decide(connection, as_call(call), decision)


@pytest.mark.parametrize("move", ["requeue", "settle"])
@pytest.mark.parametrize("status", ["claimed", "running"])
async def test_an_old_fence_changes_nothing(tenant: Cast, status: str, move: str) -> None:
    late = await in_status(tenant.alice, status)
    async with transaction(tenant.alice.scope) as connection:
        assert await begun.requeue(connection, as_call(late))
        assert await begun.claim(connection, tenant.alice.scope, late["id"], 15) is not None
    current = row_of(late["id"])
    assert current["fence"] == late["fence"] + 1
    async with transaction(tenant.alice.scope) as connection:
        assert not await MOVES[move](connection, late)
    assert row_of(late["id"]) == current
    assert kinds_of(late["id"]) == ["proposed"]


async def test_a_move_that_is_rolled_back_leaves_no_trace(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "running")
    with suppress(ZeroDivisionError):
        await _settle_and_fail(tenant.alice, call)
    assert row_of(call["id"]) == call
    assert kinds_of(call["id"]) == ["proposed"]


async def test_another_tenant_moves_nothing(tenant: Cast, other_tenant: Cast) -> None:
    for status in ("proposed", "awaiting_approval", "queued", "claimed", "running"):
        call = await in_status(tenant.alice, status)
        for move in MOVES.values():
            async with transaction(other_tenant.alice.scope) as connection:
                assert not await move(connection, call)
        assert row_of(call["id"]) == call


async def test_a_turns_calls_are_written_together_with_their_entries(tenant: Cast) -> None:
    calls = [new_call(0), new_call(1, REFUSED), new_call(2)]
    async with transaction(tenant.alice.scope) as connection:
        written = await proposing.propose(connection, place(tenant.alice), calls, frozenset([calls[0].id]))
    assert [row_of(call.id)["status"] for call in calls] == ["queued", "error", "proposed"]
    assert [kinds_of(call.id) for call in calls] == [["proposed"], ["proposed", "settled"], ["proposed"]]
    for made in written:
        assert as_call(row_of(made.id)) == made


async def test_a_call_keeps_its_times_and_attempts(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "running")
    async with transaction(tenant.alice.scope) as connection:
        await begun.requeue(connection, as_call(call))
        again = await begun.claim(connection, tenant.alice.scope, call["id"], 15)
        assert again is not None
        await begun.settle(connection, again, success())
    done = row_of(call["id"])
    assert (done["attempt"], done["fence"], done["lease_until"]) == (2, 2, None)
    assert done["started_at"] == call["started_at"]
    assert done["created_at"] <= done["started_at"] <= done["finished_at"]


FINAL_CHANGES = [
    "status = 'queued'", "status = 'error', error_code = 'timeout'", "status = 'running'", "tool_name = 'x'",
    "user_id = gen_random_uuid()", "run_id = gen_random_uuid()",
]  # fmt: skip


@pytest.mark.parametrize("change", FINAL_CHANGES)
@pytest.mark.parametrize("status", ["success", "error"])
async def test_final_never_changes_even_for_the_owner(tenant: Cast, status: str, change: str) -> None:
    call = await in_status(tenant.alice, status)
    if status == "error" and change.startswith("status = 'error'"):
        change = "error_code = 'timeout'"
    with pytest.raises(psycopg.errors.IntegrityError):
        rows(f"UPDATE tool_calls SET {change} WHERE id = %(id)s RETURNING id", id=call["id"])
    assert row_of(call["id"]) == call


@pytest.mark.parametrize(
    "change",
    ["output = '{}'", "output_hash = 'x'", "params_hash = 'x'", "input = '{}'", "error_message = 'x'", "display = 'x'",
     "side_effects = '[{}]'", "decision = '[]'", "execution_time_ms = 1", "finished_at = now()", "attempt = 9",
     "row_key = 'x'", "row_key = NULL", "output = NULL"],
)  # fmt: skip
async def test_the_payload_of_a_final_call_never_changes_either(tenant: Cast, change: str) -> None:
    call = await in_status(tenant.alice, "success")
    with pytest.raises(psycopg.errors.IntegrityError):
        rows(f"UPDATE tool_calls SET {change} WHERE id = %(id)s RETURNING id", id=call["id"])
    assert row_of(call["id"]) == call


async def test_the_payload_of_a_final_call_can_be_erased_and_its_entries_stand(tenant: Cast) -> None:
    call = await in_status(tenant.alice, "success")
    before = entries_of(call["id"])
    gone = ("input", "output", "params_hash", "output_hash", "row_key")
    erased = f"{', '.join(f'{name} = NULL' for name in gone)}, display = '', decision = bare_answers(decision)"
    assert len(rows(f"UPDATE tool_calls SET {erased} WHERE id = %(id)s RETURNING id", id=call["id"])) == 1
    assert row_of(call["id"]) == call | dict.fromkeys(gone) | {
        "display": "",
        "decision": row_of(call["id"])["decision"],
    }
    assert entries_of(call["id"]) == before


@pytest.mark.parametrize("status", STATUSES)
async def test_commitments_can_be_made_again_from_the_row(tenant: Cast, status: str) -> None:
    call = await in_status(tenant.alice, status)
    assert commitments_of(call) == [bytes(entry["commitment"]) for entry in entries_of(call["id"])]
    assert {entry["version"] for entry in entries_of(call["id"])} == {ledger.VERSION}


async def test_commitments_fit_after_a_failure_and_a_withdrawal(tenant: Cast) -> None:
    failed = await in_status(tenant.alice, "running")
    async with transaction(tenant.alice.scope) as connection:
        outcome = Outcome(failure=Failure("timeout", "Too slow – é 𝒳."), display="x", execution_time_ms=30_000)
        assert await begun.settle(connection, as_call(failed), outcome)
    withdrawn = await in_status(tenant.alice, "queued")
    async with transaction(tenant.alice.scope) as connection:
        assert await recorder.withdraw(connection, withdrawn["run_id"], Failure("cancelled", "Cancelled."))
    for call in (failed, withdrawn):
        after = row_of(call["id"])
        assert after["status"] == "error"
        assert commitments_of(after) == [bytes(entry["commitment"]) for entry in entries_of(call["id"])]


async def _settle_and_fail(person: Person, call: Row) -> None:
    async with transaction(person.scope) as connection:
        assert await begun.settle(connection, as_call(call), success())
        raise ZeroDivisionError
