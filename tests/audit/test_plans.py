"""How PostgreSQL goes about lists: by an index, in the months it must, whoever asks; small tables show it too."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import CaptureQueriesContext

from audit.history import calls, filters
from audit.history.calls import Filters
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.audit.test_calls import written
from tests.people import Cast

LIMIT = 3


@contextmanager
def _indexes_preferred() -> Iterator[None]:
    """What a large table does by itself: a handful of rows is otherwise read faster without an index."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        yield


def _plans(tenant: Cast, reader: str, **given: Any) -> list[str]:
    """The plan of each statement that a full page of a list costs."""
    person = getattr(tenant, reader)
    place = {name: given.pop(name) for name in ("before", "after") if name in given}
    with transactions.scope(*person.scope), _indexes_preferred():
        with CaptureQueriesContext(connections["default"]) as captured:
            assert len(calls.page(person.principal, Filters(**given), limit=LIMIT, **place)) == LIMIT
        asked = [query["sql"] for query in captured.captured_queries if 'FROM "tool_calls"' in query["sql"]]
        with connections["default"].cursor() as cursor:
            plans = []
            for sql in asked:
                cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}")
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    return plans


def _partitions(plan: str) -> set[str]:
    return {name for name in re.findall(r" on (tool_calls_\w+)", plan) if not name.endswith(("_idx", "_pkey"))}


def _month(age: int) -> str:
    """The partition of this month, or of one so many months later."""
    now = datetime.now(UTC)
    month = now.year * 12 + now.month - 1 + age
    return f"tool_calls_{month // 12}_{month % 12 + 1:02}"


def _before(plan: str, age: int) -> set[str]:
    """The partitions before a month that a plan reads; the default one has what is of no month."""
    return {name for name in _partitions(plan) - {"tool_calls_default"} if name < _month(age)}


@pytest.mark.parametrize("reader", ["alice", "dana"])
@pytest.mark.parametrize(
    "given",
    [
        {}, {"tool": "save_note"}, {"status": "error"}, {"error_code": "timeout"}, {"status": "failed"},
        {"status": "in_progress"}, {"status": "awaiting_approval"}, {"status": "erased"},
        {"since": datetime(2001, 1, 1, tzinfo=UTC)}, {"tool": "save_note", "status": "error"},
    ],
    ids=str,
)  # fmt: skip
def test_a_full_page_is_one_statement_by_an_index_in_few_months(
    tenant: Cast, reader: str, given: dict[str, Any]
) -> None:
    for more in ({"status": "error", "started_at": datetime.now(UTC)}, {"status": "queued"}, {"row_key": None},
                 {"status": "awaiting_approval"}):  # fmt: skip
        for _ in range(LIMIT):
            written(tenant.alice, **more)
    [plan] = _plans(tenant, reader, **given)
    assert "Seq Scan" not in plan
    assert _before(plan, -1) == set()
    assert _month(0) in _partitions(plan)


def test_a_later_page_reads_the_months_from_its_place_on(tenant: Cast) -> None:
    made = [written(tenant.alice, timedelta(days=90)) for _ in range(2 * LIMIT)]
    [plan] = _plans(tenant, "alice", before=made[-1])
    assert {name for name in _partitions(plan) if name >= _month(0)} <= {"tool_calls_default"}
    [newer] = _plans(tenant, "alice", after=made[0])
    assert _before(newer, -4) == set()


def test_since_and_until_bound_the_months(tenant: Cast) -> None:
    moment = datetime.now(UTC)
    for _ in range(LIMIT):
        written(tenant.alice)
    [plan] = _plans(tenant, "dana", since=moment - timedelta(minutes=5), until=moment + timedelta(minutes=5))
    assert len(_partitions(plan) - {"tool_calls_default"}) <= 2


def test_a_page_of_months_ago_is_one_statement_in_its_own_month(tenant: Cast) -> None:
    moment = datetime.now(UTC) - timedelta(days=100)
    for _ in range(LIMIT):
        written(tenant.alice, timedelta(days=100))
    [plan] = _plans(tenant, "dana", since=moment - timedelta(minutes=5), until=moment + timedelta(minutes=5))
    assert len(_partitions(plan) - {"tool_calls_default"}) <= 2


@pytest.mark.parametrize("reader", ["alice", "dana"])
def test_the_choice_of_tools_reads_few_months(tenant: Cast, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "RECENT", LIMIT)
    for _ in range(LIMIT):
        written(tenant.alice, tool_name="save_note")
    person = getattr(tenant, reader)
    with transactions.scope(*person.scope), _indexes_preferred():
        with CaptureQueriesContext(connections["default"]) as captured:
            assert filters.choices(person.principal, filters.Chosen({}))["tools"] == ["save_note"]
        [asked] = [query["sql"] for query in captured.captured_queries if 'FROM "tool_calls"' in query["sql"]]
        with connections["default"].cursor() as cursor:
            cursor.execute(f"EXPLAIN (COSTS OFF) {asked}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Seq Scan" not in plan
    assert _before(plan, -1) == set()


async def test_the_statements_of_a_calls_life_touch_one_month_also_under_a_generic_plan(tenant: Cast) -> None:
    call = written(tenant.alice, status="queued")
    async with transaction(tenant.alice.scope) as connection:
        for name in ("enable_seqscan", "enable_bitmapscan"):
            # As in a large table, whatever is known of this one's size.
            await connection.execute(f"SET LOCAL {name} = off".encode())
        for statement in (
            "SELECT * FROM tool_calls WHERE id = %s",
            "UPDATE tool_calls SET status = 'claimed' WHERE id = %s AND status = 'queued' RETURNING *",
        ):
            found = await connection.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {statement}".encode(), [call])
            plan = "\n".join(str(row["QUERY PLAN"]) for row in await found.fetchall())
            assert "Seq Scan" not in plan
            assert len(re.findall(r"Index Scan using", plan)) == 1, plan


@pytest.mark.parametrize("terms", ["'walnut'", "'walnut'&'tenant={tenant}'", "'wal':*&'user={user}'"])
def test_words_are_looked_up_in_the_index_of_terms(tenant: Cast, terms: str) -> None:
    """As the search's own function asks a month, with its settings."""
    asked = terms.format(tenant=tenant.id, user=tenant.alice.scope.user_id)
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        for name in ("enable_seqscan", "enable_indexscan"):
            owner.execute(f"SET LOCAL {name} = off".encode())
        plan = owner.execute(
            "EXPLAIN SELECT c.id FROM tool_calls_default c WHERE c.status IN ('success', 'error', 'awaiting_approval')"
            " AND uuid_cmp(c.id, %s) >= 0 AND uuid_eq(c.tenant_id, %s) AND call_terms(c.id, c.tenant_id, c.user_id,"
            " c.tool_name, c.error_code, c.display, c.error_message, c.input, c.input_raw) @@ %s::tsquery"
            " ORDER BY c.id DESC LIMIT 51",
            [uuid.UUID(int=0), tenant.id, asked],
        ).fetchall()
    scans = [line for (line,) in plan if "Scan" in line]
    assert [re.sub(r"\s*(->)?\s*(.+?) on (\w+).*", r"\2 \3", line) for line in scans] == [
        "Bitmap Heap Scan tool_calls_default",
        "Bitmap Index Scan tool_calls_default_call_terms_idx",
    ]
