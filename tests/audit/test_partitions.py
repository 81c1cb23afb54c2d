"""tool_calls by month, and the ids that say which."""

import threading
import uuid
from datetime import UTC, datetime

import psycopg
import pytest

from audit.calls import proposing
from audit.identifiers import uuid7
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.audit.calls import new_call, place
from tests.database import rows
from tests.people import Cast


def _at(moment: datetime) -> uuid.UUID:
    """A UUIDv7 of that moment."""
    made = uuid7()
    return uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | made.int & ((1 << 80) - 1))


async def _partition_of(tenant: Cast, call_id: uuid.UUID) -> str:
    async with transaction(tenant.alice.scope) as connection:
        await proposing.propose(connection, place(tenant.alice), [new_call(id=call_id)], frozenset())
    [row] = rows("SELECT tableoid::regclass::text AS name FROM tool_calls WHERE id = %(id)s", id=call_id)
    return str(row["name"])


def _partitions() -> set[str]:
    found = rows("SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'tool_calls'::regclass")
    return {row["name"] for row in found}


async def test_a_call_of_now_is_in_this_months_partition(tenant: Cast) -> None:
    call_id = uuid7()
    moment = datetime.fromtimestamp((call_id.int >> 80) / 1000, UTC)
    assert await _partition_of(tenant, call_id) == f"tool_calls_{moment:%Y_%m}"


@pytest.mark.parametrize("moment", [datetime(2001, 1, 1, tzinfo=UTC), datetime(2999, 12, 31, tzinfo=UTC)])
async def test_a_call_of_no_month_that_was_made_is_in_the_default_partition(tenant: Cast, moment: datetime) -> None:
    assert await _partition_of(tenant, _at(moment)) == "tool_calls_default"
    [count] = rows("SELECT count(*) AS n FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert count["n"] == 1


def _months_ahead(count: int) -> list[datetime]:
    now = datetime.now(UTC)
    months = range(now.month - 1, now.month + count)
    return [datetime(now.year + month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]


async def test_partitions_are_made_ahead_walled_and_only_once(tenant: Cast) -> None:
    ahead = 5
    [made] = await transactions.fetch("SELECT make_tool_call_partitions(%s) AS n", [ahead], login="system")
    assert made["n"] in range(ahead + 1)
    names = {f"tool_calls_{month:%Y_%m}" for month in _months_ahead(ahead)}
    assert names <= _partitions()
    [again] = await transactions.fetch("SELECT make_tool_call_partitions(%s) AS n", [ahead], login="system")
    assert again["n"] == 0
    walled = rows(
        "SELECT relname::text AS name FROM pg_class WHERE relname = ANY(%(names)s)"
        " AND relrowsecurity AND relforcerowsecurity",
        names=list(names),
    )
    assert {row["name"] for row in walled} == names
    for month in _months_ahead(ahead):
        name = f"tool_calls_{month:%Y_%m}"
        last = datetime.fromtimestamp(month.timestamp() + 27 * 86_400 + 86_399, UTC)
        for moment in (month, last):
            assert await _partition_of(tenant, _at(moment)) == name
        before = datetime.fromtimestamp(month.timestamp() - 0.001, UTC)
        assert await _partition_of(tenant, _at(before)) != name


async def test_the_app_cannot_make_partitions_nor_reach_into_one(tenant: Cast) -> None:
    await _partition_of(tenant, uuid7())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await transactions.fetch("SELECT make_tool_call_partitions(1)")
    for partition in _partitions():
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(f"SELECT * FROM {partition}".encode())


def test_ids_are_version_7_of_now_and_grow() -> None:
    before = datetime.now(UTC).timestamp()
    made = [uuid7() for _ in range(20_000)]
    after = datetime.now(UTC).timestamp()
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    # Many in one moment run a little ahead of the clock rather than repeat themselves.
    assert int(before * 1000) <= made[0].int >> 80 <= int(after * 1000) + 10


def test_ids_made_by_several_threads_differ_and_grow_in_each() -> None:
    made: list[list[uuid.UUID]] = []

    def make() -> None:
        made.append([uuid7() for _ in range(2_000)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == sorted(each) for each in made)
    assert len({call_id for each in made for call_id in each}) == 16_000


def test_ids_sort_in_postgresql_as_here() -> None:
    made = [uuid7() for _ in range(100)]
    [row] = rows("SELECT array_agg(id ORDER BY id) AS ids FROM unnest(%(ids)s::uuid[]) id", ids=made[::-1])
    assert row["ids"] == made
