"""Retention: payloads go when they are as old as a tenant says, months when they are as old as the operator says."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from approvals.requests.erasure import erase_between
from audit.calls import begun, ledger, proposing
from audit.identifiers import uuid7
from audit.retention import erasure as audit_erasure
from audit.retention import expiry
from gateway.runs.conversations import erasure
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.approvals.requests import held
from tests.audit import logs
from tests.audit.calls import REFUSED, new_call, place, success
from tests.audit.erasing import calls_of, entries_of, tables_with
from tests.database import rows
from tests.people import Cast, Person


def _at(moment: datetime) -> uuid.UUID:
    """A UUIDv7 of that moment."""
    return uuid.UUID(int=round(moment.timestamp() * 1000) << 80 | uuid7().int & ((1 << 80) - 1))


@contextmanager
def _owner() -> Iterator[psycopg.Connection]:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        yield owner


@pytest.fixture(autouse=True)
def _nobody_else_keeps_to_a_retention() -> None:
    with _owner() as owner:
        owner.execute("UPDATE tenants SET retention_days = NULL WHERE retention_days IS NOT NULL")


async def _call(person: Person, moment: datetime, *, final: bool = True) -> uuid.UUID:
    """A refused call of that moment, or one that is queued."""
    call = new_call(id=_at(moment), refusal=REFUSED if final else None)
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [call], frozenset() if final else frozenset({call.id}))
    return call.id


def _keep(tenant: Cast, days: int | None) -> None:
    with _owner() as owner:
        owner.execute("UPDATE tenants SET retention_days = %s WHERE id = %s", [days, tenant.id])


def _erased(tenant: Cast) -> set[uuid.UUID]:
    return {call["id"] for call in calls_of(tenant) if call["row_key"] is None}


def _got_to(tenant: Cast) -> datetime | None:
    [row] = rows("SELECT erased_until FROM tenants WHERE id = %(t)s", t=tenant.id)
    moment: datetime | None = row["erased_until"]
    return moment


def _partitions() -> set[str]:
    found = rows("SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'tool_calls'::regclass")
    return {row["name"] for row in found}


async def _drop(keep: int) -> list[date]:
    return await expiry.drop_months(keep, erase_between)


# --- payloads --------------------------------------------------------------------------------------------------------
async def test_payloads_go_once_they_are_as_old_as_the_tenant_says(tenant: Cast, other_tenant: Cast) -> None:
    _keep(tenant, 30)
    edge = datetime.now(UTC) - timedelta(days=30)
    old = [await _call(tenant.alice, edge - age) for age in (timedelta(days=400), timedelta(minutes=1))]
    young = await _call(tenant.bob, edge + timedelta(hours=1))
    others = await _call(other_tenant.alice, edge - timedelta(days=400))
    before = entries_of(tenant)
    assert await expiry.erase_old(erasure.copies) == 2
    assert _erased(tenant) == set(old)
    assert young in {call["id"] for call in calls_of(tenant) if call["input"] is not None}
    assert _erased(other_tenant) == set() and len(calls_of(other_tenant)) == 1 and others
    [row] = rows("SELECT * FROM erasures WHERE tenant_id = %(t)s", t=tenant.id)
    assert (row["scope"], row["subject_id"], row["actor_id"], row["calls"]) == ("retention", None, None, 2)
    entries = entries_of(tenant)
    assert entries[: len(before)] == before
    assert [(each["kind"], each["call_id"]) for each in entries[len(before) :]] == [("erased", each) for each in old]
    got_to = _got_to(tenant)
    assert got_to is not None and abs(got_to - edge) < timedelta(hours=1)
    assert await expiry.erase_old(erasure.copies) == 0
    assert len(rows("SELECT id FROM erasures WHERE tenant_id = %(t)s", t=tenant.id)) == 1


async def test_a_call_that_is_not_final_waits_and_keeps_nothing_else(tenant: Cast) -> None:
    _keep(tenant, 10)
    edge = datetime.now(UTC) - timedelta(days=10)
    first = await _call(tenant.alice, edge - timedelta(days=3))
    waiting = await _call(tenant.alice, edge - timedelta(days=2), final=False)
    last = await _call(tenant.alice, edge - timedelta(days=1))
    assert await expiry.erase_old(erasure.copies) == 2
    assert _erased(tenant) == {first, last}
    got_to = _got_to(tenant)
    assert got_to is not None and abs(got_to - (edge - timedelta(days=2))) < timedelta(seconds=1)
    async with transaction(tenant.alice.scope) as connection:
        row = await begun.claim(connection, tenant.alice.scope, waiting, 15)
        assert row is not None
        await begun.settle(connection, row, success())
    assert await expiry.erase_old(erasure.copies) == 1
    assert _erased(tenant) == {first, waiting, last}
    got_to = _got_to(tenant)
    assert got_to is not None and abs(got_to - edge) < timedelta(hours=1)


async def test_what_one_run_does_not_manage_the_next_goes_on_with(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(tenant, 10)
    edge = datetime.now(UTC) - timedelta(days=10)
    old = [await _call(tenant.alice, edge - timedelta(hours=hours)) for hours in (5, 4, 3, 2, 1)]
    following = audit_erasure.following

    async def two(connection: Any, cause: Any, **more: Any) -> Any:
        return await following(connection, cause, **{**more, "limit": 2})

    monkeypatch.setattr(audit_erasure, "following", two)
    # Each look at the clock is a batch: then the time is over.
    moments = iter([0.0, 0.0, 99.0, *[100.0] * 9])
    monkeypatch.setattr(expiry, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    assert await expiry.erase_old(erasure.copies, seconds=50) == 2
    assert _erased(tenant) == set(old[:2])
    got_to = _got_to(tenant)
    assert got_to is not None and abs(got_to - (edge - timedelta(hours=4))) < timedelta(seconds=1)
    assert await expiry.erase_old(erasure.copies, seconds=50) == 3
    assert _erased(tenant) == set(old)
    erasures = rows("SELECT calls FROM erasures WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [row["calls"] for row in erasures] == [2, 2, 1]


async def test_a_tenant_whose_erasing_fails_holds_up_no_other(tenant: Cast, other_tenant: Cast) -> None:
    for each in (tenant, other_tenant):
        _keep(each, 10)
        await _call(each.alice, datetime.now(UTC) - timedelta(days=20))

    async def fails(connection: Any, tenant_id: uuid.UUID, ids: list[uuid.UUID]) -> None:
        if tenant_id == tenant.id:
            raise RuntimeError("one tenant's trouble")
        await erasure.copies(connection, tenant_id, ids)

    assert await expiry.erase_old(fails) == 1
    assert (len(_erased(tenant)), len(_erased(other_tenant))) == (0, 1)
    assert _got_to(tenant) is None
    assert rows("SELECT id FROM erasures WHERE tenant_id = %(t)s", t=tenant.id) == []


async def test_a_longer_retention_brings_nothing_back_and_a_shorter_one_goes_on(tenant: Cast) -> None:
    now = datetime.now(UTC)
    calls = [await _call(tenant.alice, now - timedelta(days=days)) for days in (30, 20, 10)]
    for days, gone in ((25, 1), (100, 1), (15, 2), (None, 2), (5, 3)):
        _keep(tenant, days)
        await expiry.erase_old(erasure.copies)
        assert _erased(tenant) == set(calls[:gone])


async def test_nobody_but_the_tidying_says_how_far_it_got(tenant: Cast) -> None:
    for statement in ("UPDATE tenants SET erased_until = now()", "UPDATE tenants SET name = 'x'"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.olga.scope) as connection:
                await connection.execute(statement.encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await transactions.fetch("UPDATE tenants SET retention_days = 1 RETURNING id", login="system")
    with pytest.raises(psycopg.errors.CheckViolation):
        async with transaction(tenant.olga.scope) as connection:
            await connection.execute(b"UPDATE tenants SET retention_days = 0")


# --- months ----------------------------------------------------------------------------------------------------------
@asynccontextmanager
async def _month(tenant: Cast, month: date) -> AsyncIterator[str]:
    """A past month with its partition, which is empty but for what the test puts there."""
    name = f"tool_calls_{month:%Y_%m}"
    await transactions.fetch("SELECT make_tool_call_month(%s)", [month], login="system")
    assert name in _partitions()
    yield name
    with _owner() as owner:
        owner.execute(f"DROP TABLE IF EXISTS {name}".encode())


def _months_ago(count: int) -> date:
    today = datetime.now(UTC)
    months = today.year * 12 + today.month - 1 - count
    return date(months // 12, months % 12 + 1, 1)


def _in(month: date, day: int = 15) -> datetime:
    return datetime(month.year, month.month, day, 12, tzinfo=UTC)


async def test_a_month_goes_whole_and_it_is_on_record_what_went(tenant: Cast, other_tenant: Cast) -> None:
    month = _months_ago(31)
    async with _month(tenant, month) as name:
        mine = [await _call(tenant.alice, _in(month, day)) for day in (1, 15, 28)]
        theirs = await _call(other_tenant.alice, _in(month))
        kept = await _call(tenant.alice, datetime.now(UTC))
        await logs.seal()
        before = entries_of(tenant)
        # Other tests of this database may have left calls that are as old.
        assert month in await _drop(30)
        assert name not in _partitions()
    assert [call["id"] for call in calls_of(tenant)] == [kept]
    assert calls_of(other_tenant) == [] and theirs
    entries = entries_of(tenant)
    assert entries[: len(before)] == before and len(entries) == len(before) + 1
    [row] = rows("SELECT * FROM erasures WHERE tenant_id = %(t)s", t=tenant.id)
    assert (row["scope"], row["subject_id"], row["actor_id"], row["calls"]) == ("month", None, None, len(mine))
    assert all(row["low"] <= each < row["high"] for each in mine)
    assert datetime.fromtimestamp((row["low"].int >> 80) / 1000, UTC) == _in(month, 1).replace(hour=0)
    entry = entries[-1]
    assert (entry["kind"], entry["call_id"], entry["record_id"]) == ("dropped", None, row["id"])
    assert entry["commitment"] == ledger.commitment(row["row_key"], ledger.dropped(row))
    assert [each["kind"] for each in entries_of(other_tenant)] == ["proposed", "settled", "dropped"]


async def test_with_a_month_goes_what_was_said_about_its_calls(tenant: Cast) -> None:
    month, word = _months_ago(32), f"w{uuid.uuid4().hex}"
    async with _month(tenant, month):
        request = held(
            tenant.alice,
            call_id=_at(_in(month)),
            created_at=_in(month),
            why=word,
            context=[{"role": "user", "text": word, "cut": 0}],
        )
        with _owner() as owner:
            owner.execute(
                "INSERT INTO approval_decisions (id, tenant_id, request_id, call_id, user_id, verdict, reason, via,"
                " params_hash, created_at) SELECT %s, tenant_id, id, call_id, %s, 'deny', %s, 'api', params_hash, now()"
                " FROM approval_requests WHERE id = %s",
                [uuid7(), tenant.carol.scope.user_id, word, request],
            )
            owner.execute("UPDATE approval_requests SET status = 'denied', used_at = now() WHERE id = %s", [request])
            owner.execute(
                "UPDATE tool_calls SET status = 'error', error_code = 'approval_denied', finished_at = now(),"
                " error_message = %s WHERE tenant_id = %s",
                [word, tenant.id],
            )
        assert set(tables_with(word)) == {"tool_calls", "approval_requests", "approval_decisions"}
        assert month in await _drop(31)
    assert tables_with(word) == {}
    [row] = rows("SELECT status, params_hash FROM approval_requests WHERE id = %(id)s", id=request)
    assert row == {"status": "denied", "params_hash": ""}


async def test_a_month_with_calls_that_are_not_final_or_not_sealed_stays(tenant: Cast) -> None:
    month = _months_ago(33)
    async with _month(tenant, month) as name:
        await _call(tenant.alice, _in(month))
        waiting = await _call(tenant.alice, _in(month), final=False)
        await logs.seal()
        before = entries_of(tenant), calls_of(tenant)
        assert month not in await _drop(32)
        assert (entries_of(tenant), calls_of(tenant)) == before
        with _owner() as owner:
            owner.execute("DELETE FROM tool_calls WHERE id = %s", [waiting])
        # Its last entries are not in the log yet.
        await _call(tenant.alice, _in(month))
        assert month not in await _drop(32)
        assert name in _partitions()
        assert rows("SELECT id FROM erasures WHERE tenant_id = %(t)s", t=tenant.id) == []
        await logs.seal()
        assert month in await _drop(32)


async def test_months_that_are_to_be_kept_stay_and_nobody_else_drops_any(tenant: Cast) -> None:
    month = _months_ago(34)
    async with _month(tenant, month) as name:
        await _call(tenant.alice, _in(month))
        await logs.seal()
        assert month not in await _drop(34) and name in _partitions()
        for keep in (34, 0, -1, None):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await transactions.fetch("SELECT drop_tool_call_month(%s, %s)", [month, keep], login="system")
        for far in (datetime.now(UTC).date(), _months_ago(1)):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await transactions.fetch("SELECT drop_tool_call_month(%s, 1)", [far], login="system")
        for login in ("default", "operator"):
            for call in ("drop_tool_call_month(%s, 1)", "hold_tool_call_month(%s, 1)", "make_tool_call_month(%s)"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await transactions.fetch(f"SELECT {call}", [month], login=login)  # type: ignore[arg-type]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await transactions.fetch(f"DROP TABLE {name}", login="system")  # type: ignore[arg-type]
        # Nothing goes that is not on record.
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not on record"):
            await transactions.fetch("SELECT drop_tool_call_month(%s, 33)", [month], login="system")
        assert name in _partitions() and len(calls_of(tenant)) == 1


async def test_a_month_in_use_is_left_to_the_next_hour_and_holds_nobody_up(tenant: Cast) -> None:
    month = _months_ago(35)
    async with _month(tenant, month) as name:
        await _call(tenant.alice, _in(month))
        await logs.seal()
        with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as reader:
            reader.execute("SELECT count(*) FROM tool_calls")
            dropping = asyncio.create_task(_drop(34))
            readings = 0
            while not dropping.done():
                async with transaction(tenant.alice.scope) as connection:
                    await (await connection.execute("SELECT id FROM tool_calls LIMIT 1")).fetchall()
                readings += 1
                await asyncio.sleep(0.01)
            assert month not in await dropping
            # It tries for a moment, twenty times: who reads waits for one try, and not for all of them.
            assert readings > 5
        assert name in _partitions()
        assert rows("SELECT id FROM erasures WHERE tenant_id = %(t)s", t=tenant.id) == []
        assert month in await _drop(34)


async def test_a_month_is_made_although_the_default_partition_has_calls_of_it(tenant: Cast) -> None:
    month = _months_ago(36)
    name = f"tool_calls_{month:%Y_%m}"
    inside = [await _call(tenant.alice, _in(month, day)) for day in (1, 15)]
    outside = await _call(tenant.alice, _in(_months_ago(37), 1))
    before = calls_of(tenant)
    found = rows("SELECT id, tableoid::regclass::text AS name FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert {row["name"] for row in found} == {"tool_calls_default"}
    async with _month(tenant, month):
        found = rows("SELECT id, tableoid::regclass::text AS name FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
        assert {row["id"]: row["name"] for row in found} == dict.fromkeys(inside, name) | {
            outside: "tool_calls_default"
        }
        assert calls_of(tenant) == before
        [again] = await transactions.fetch("SELECT make_tool_call_month(%s) AS made", [month], login="system")
        assert again["made"] is False
        walled = rows(
            "SELECT relrowsecurity AND relforcerowsecurity AS yes FROM pg_class WHERE relname = %(n)s", n=name
        )
        assert walled == [{"yes": True}]
        await logs.seal()
        # What no partition was made for goes with its month as well.
        assert {month, _months_ago(37)} <= set(await _drop(35))
    assert calls_of(tenant) == []
    assert [
        row["calls"] for row in rows("SELECT calls FROM erasures WHERE tenant_id = %(t)s ORDER BY low", t=tenant.id)
    ] == [1, 2]
