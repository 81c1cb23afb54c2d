"""Every committed entry gets one place in the log, and every head fits all that came before it."""

import asyncio
import itertools
import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit.calls import proposing
from audit.log import sealing
from tenants.scope.transactions import transaction
from tests.audit import logs, proofs
from tests.audit.calls import REFUSED, new_call, place
from tests.database import rows
from tests.people import Cast, Person, make_tenant


@pytest.fixture
def others(_own_log: None) -> Cast:
    """Another one."""
    return make_tenant()


async def test_what_was_committed_is_sealed_in_order_and_signed(people: Cast) -> None:
    first = await logs.write_calls(people.alice, 3)
    assert (await sealing.seal()).entries == 6
    second = [await logs.write_success(people.bob)]
    assert await sealing.seal() == sealing.Sealed(2, 8)
    found = logs.entries()
    assert [entry["call_id"] for entry in found] == [call for call in (*first, *second) for _ in range(2)]
    assert [entry["kind"] for entry in found] == ["proposed", "settled"] * 4
    assert [head.size for head in logs.heads()] == [6, 8]
    logs.check()


async def test_nothing_new_makes_no_checkpoint(people: Cast) -> None:
    assert await sealing.seal() == sealing.Sealed()
    assert rows("SELECT * FROM ledger_keys") == []
    assert list(Path(settings.TOOLGATE_DATA_DIR).glob("ledger*")) == []
    await logs.write_calls(people.alice)
    await sealing.seal()
    before = rows("SELECT * FROM ledger_checkpoints")
    assert await sealing.seal() == sealing.Sealed(0, 2)
    assert rows("SELECT * FROM ledger_checkpoints") == before


async def test_an_entry_that_is_committed_late_is_sealed_late(people: Cast) -> None:
    async with transaction(people.alice.scope) as late:
        call = new_call(0, REFUSED)
        await proposing.propose(late, place(people.alice), [call], frozenset())
        await (await late.execute("SELECT 1")).fetchone()
        [early] = await logs.write_calls(people.bob)
        await sealing.seal()
        assert {entry["call_id"] for entry in logs.entries()} == {early}
    await sealing.seal()
    found = logs.entries()
    assert [entry["call_id"] for entry in found] == [early, early, call.id, call.id]
    assert found[2]["seq"] < found[0]["seq"]
    logs.check()


async def test_entries_that_are_rolled_back_leave_no_gap_in_the_log(people: Cast) -> None:
    await logs.write_calls(people.alice)
    with pytest.raises(ZeroDivisionError):
        await _write_and_fail(people.alice)
    await logs.write_calls(people.alice)
    await sealing.seal()
    found = logs.entries()
    assert found[-1]["seq"] - found[0]["seq"] > len(found) - 1
    logs.check()


async def _write_and_fail(person: Person) -> None:
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [new_call(0, REFUSED)], frozenset())
        raise ZeroDivisionError


async def test_more_than_a_batch_is_sealed_at_once(people: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "BATCH", 100)
    await logs.write_calls(people.alice, 200)
    assert await sealing.seal() == sealing.Sealed(400, 400)
    assert [head.size for head in logs.heads()] == [100, 200, 300, 400]
    logs.check()


async def test_a_storm_of_writers_is_sealed_exactly_once(people: Cast, others: Cast) -> None:
    dice = random.Random(5)
    rounds, ended = [0], asyncio.Event()
    moved = asyncio.Condition()
    committed: set[object] = set()

    async def write(person: Person) -> None:
        for _ in range(12):
            calls = [new_call(position, REFUSED) for position in range(dice.randint(1, 3))]
            fails, stays = dice.random() < 0.1, dice.choice((0, 0, 1, 3))
            try:
                async with transaction(person.scope) as connection:
                    await proposing.propose(connection, place(person), calls, frozenset())
                    await (await connection.execute("SELECT 1")).fetchone()
                    target = rounds[0] + stays
                    async with moved:
                        await moved.wait_for(lambda target=target: rounds[0] >= target)  # type: ignore[misc]
                    if fails:
                        raise ZeroDivisionError
                committed.update(call.id for call in calls)
            except ZeroDivisionError:
                pass

    async def keep_sealing() -> None:
        while not ended.is_set():
            done = await asyncio.gather(sealing.seal(), sealing.seal())
            assert any(not each.busy for each in done)
            async with moved:
                rounds[0] += 1
                moved.notify_all()

    sealer = asyncio.create_task(keep_sealing())
    writers = [write(person) for person in (people.alice, people.bob, others.alice, others.bob)]
    writers += [write(people.alice) for _ in range(8)] + [write(others.bob) for _ in range(6)]
    await asyncio.gather(*writers)
    ended.set()
    await sealer
    await sealing.seal()
    found = logs.entries()
    assert {entry["call_id"] for entry in found} == committed
    assert len(found) == 2 * len(committed)
    assert any(one["seq"] > other["seq"] for one, other in itertools.pairwise(found))
    assert len(logs.heads()) > 5
    logs.check()
    stored = logs.stored_tiles()
    heads = logs.heads()
    for place_of, old in enumerate(heads):
        for new in heads[place_of:]:
            proof = proofs.consistency_proof(old.size, new.size, stored)
            assert proofs.verify_consistency(old.size, old.root, new.size, new.root, proof)


async def test_who_comes_while_another_seals_leaves_it_to_them(people: Cast) -> None:
    await logs.write_calls(people.alice)
    with psycopg.connect(settings.DATABASE_URLS["system"]) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [sealing.LOCK])
        assert await sealing.seal() == sealing.Sealed(busy=True)
        assert logs.entries() == []
    assert (await sealing.seal()).entries == 2


async def test_a_round_costs_the_same_however_long_the_log_is(people: Cast) -> None:
    unsealed = (
        "INSERT INTO ledger_entries (tenant_id, kind, version, commitment)"
        f" SELECT '{people.id}', 'read', 3, decode(repeat('00', 32), 'hex') FROM generate_series(1, 20000)"
    )
    logs.as_owner(unsealed)
    # First as the table's statistics never see it later, with nothing sealed yet, then as they mostly are.
    for _ in range(2):
        logs.as_owner("ANALYZE ledger_entries")
        await sealing.seal()
        logs.as_owner("ANALYZE ledger_tiles", "ANALYZE ledger_checkpoints")
        before = _times_read_through()
        await logs.write_calls(people.alice)
        assert (await sealing.seal()).entries == 2
        assert (await sealing.seal()).entries == 0
        assert _times_read_through() == before


def _times_read_through() -> int:
    """How often the tables of the log were read from end to end, by anybody."""
    names = "('ledger_entries', 'ledger_tiles', 'ledger_checkpoints', 'tool_calls')"
    rows("SELECT pg_stat_force_next_flush()")
    return int(rows(f"SELECT sum(seq_scan) AS n FROM pg_stat_user_tables WHERE relname IN {names}")[0]["n"])


# --- cut at every point ----------------------------------------------------------------------------------------------
CUTS = ["checked_head", "_next_of_tenants", "read_tiles", "keep_tiles", "sign_head"]


@pytest.mark.parametrize("point", CUTS)
async def test_a_seal_that_is_cut_before_its_commit_leaves_no_trace(
    people: Cast, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()
    await logs.write_calls(people.alice)
    before = (logs.entries(), logs.stored_tiles(), logs.heads(), logs.filed())
    done = getattr(sealing, point)

    async def cut(*values: Any) -> None:
        await done(*values)
        raise logs.Cut

    with monkeypatch.context() as patch:
        patch.setattr(sealing, point, cut)
        with pytest.raises(logs.Cut):
            await sealing.seal()
    assert (logs.entries(), logs.stored_tiles(), logs.heads(), logs.filed()) == before
    assert await sealing.seal() == sealing.Sealed(2, 4)
    logs.check()


async def test_a_head_whose_sealer_was_killed_after_the_commit_is_written_out_by_the_next(people: Cast) -> None:
    await logs.write_calls(people.alice)
    await sealing._seal_batch(9)
    assert not Path(settings.TOOLGATE_CHECKPOINT_FILE).exists()
    assert await sealing.seal() == sealing.Sealed(0, 2)
    assert logs.filed() == logs.heads()
    await logs.write_calls(people.alice)
    await sealing._seal_batch(9)
    assert len(logs.filed()) == 1
    await logs.write_calls(people.alice)
    await sealing.seal()
    logs.check()


@pytest.mark.parametrize("kept", [0, 1, 20, 200])
async def test_a_line_that_was_cut_off_is_written_again(people: Cast, kept: int) -> None:
    for _ in range(2):
        await logs.write_calls(people.alice)
        await sealing.seal()
    file = Path(settings.TOOLGATE_CHECKPOINT_FILE)
    whole = file.read_bytes()
    first, second, _ = whole.split(b"\n")
    file.write_bytes(first + b"\n" + second[:kept])
    await sealing.seal()
    assert file.read_bytes() == whole
    logs.check()


async def test_a_checkpoint_file_that_is_gone_is_made_again(people: Cast) -> None:
    for _ in range(3):
        await logs.write_calls(people.alice)
        await sealing.seal()
    Path(settings.TOOLGATE_CHECKPOINT_FILE).unlink()
    await sealing.seal()
    logs.check()
