"""The charts: what they count, whose, and how they are drawn."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit.history import charts, drawing
from audit.history.charts import Counts
from audit.templatetags.history_tags import share, slowest
from tenants.scope import transactions
from tests.database import rows
from tests.pages.call_rows import signed_in
from tests.pages.test_history import queries_of
from tests.people import Cast, Person

MOST_BYTES = 100_000
USUAL = {"calls": 10, "succeeded": 7, "refused": 2, "failed": 1, "timed": 8, "total_ms": 400, "ms_30": 8}


NOW = datetime.now(UTC)


class StandingStill(datetime):
    """A clock whose hour does not end within a test."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        """The same moment each time."""
        return NOW.astimezone(tz)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted and what is drawn are of the same hour."""
    monkeypatch.setattr(charts, "datetime", StandingStill)


def this_hour() -> datetime:
    """When it began."""
    return NOW.replace(minute=0, second=0, microsecond=0)


def counted(tenant: Cast, user_id: uuid.UUID | None, *, back: timedelta = timedelta(), **columns: Any) -> None:
    """A row of counts, as the sealer writes it; without a user, the tenant's."""
    blank = dict.fromkeys((*charts.COUNTED, *charts.BOUNDS, charts.LONGER), 0)
    values = blank | {"tool_name": "list_tasks", "hour": this_hour() - back} | (columns or USUAL)
    values |= {"tenant_id": tenant.id, "user_id": user_id}
    places = ", ".join(f"%({name})s" for name in values)
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"INSERT INTO tool_call_counts ({', '.join(values)}) VALUES ({places})".encode(), values)


def own(person: Person, of: str) -> charts.Charts:
    """The person's own counts, as their page reads them."""
    with transactions.scope(*person.scope):
        return charts.counted(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id, of=of)


def test_a_member_sees_their_own_counts_and_an_auditor_the_tenants_or_a_persons(tenant: Cast) -> None:
    counted(tenant, tenant.alice.scope.user_id)
    counted(tenant, tenant.bob.scope.user_id, **USUAL | {"calls": 3, "tool_name": "save_note"})
    counted(tenant, None, **USUAL | {"calls": 13})

    def calls(reader: str, query: str = "") -> str | None:
        page = signed_in(getattr(tenant, reader)).get(f"/history/charts/?{query}").content.decode()
        found = re.search(r"<dt>Calls</dt><dd>(\d+)</dd>", page)
        return found and found[1]

    assert (calls("alice"), calls("bob"), calls("carol")) == ("10", "3", None)
    assert calls("alice", f"user={tenant.bob.username}") == "10"
    assert calls("dana") == "13"
    assert calls("dana", f"user={tenant.bob.username}") == "3"
    assert calls("alice", "tool=save_note") is None
    found = rows("SELECT * FROM history_reads WHERE tenant_id = %(tenant)s ORDER BY id", tenant=tenant.id)
    assert [(each["action"], each["user_id"], each["calls"]) for each in found] == [
        ("charts", None, 13),
        ("charts", tenant.bob.scope.user_id, 3),
    ]


def test_the_charts_cost_one_query_of_counts_and_none_of_calls(tenant: Cast) -> None:
    for hour in range(200):
        counted(tenant, tenant.alice.scope.user_id, back=timedelta(hours=hour))
    with queries_of('FROM "tool_call_counts"') as of_counts, queries_of('FROM "tool_calls"') as of_calls:
        page = signed_in(tenant.alice).get("/history/charts/?range=month").content
    assert (len(of_counts), len(of_calls)) == (1, 0)
    assert len(page) < MOST_BYTES


def test_hours_and_days_are_summed_where_they_belong(tenant: Cast) -> None:
    me = tenant.alice.scope.user_id
    for back in (0, 1, 25, 24 * 8):
        counted(tenant, me, back=timedelta(hours=back))
    day = own(tenant.alice, "day")
    assert [counts.calls for _, counts in day.over_time] == [*[0] * 22, 10, 10]
    week = own(tenant.alice, "week")
    assert sum(counts.calls for _, counts in week.over_time) == week.total.calls == 30
    assert [start.hour for start, _ in week.over_time] == [0] * 7
    assert own(tenant.alice, "month").total.calls == 40


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"timed": 0}, "–"),
        ({"timed": 100, "ms_10": 100}, "under 10 ms"),
        ({"timed": 100, "ms_10": 90, "ms_100": 10}, "about 65 ms"),
        ({"timed": 100, "ms_30": 95, "ms_30000": 5}, "about 30 ms"),
        ({"timed": 100, "ms_10": 90, "ms_more": 10}, "over 30.0 s"),
    ],
)
def test_the_slowest_are_told_as_well_as_a_histogram_can(columns: dict[str, int], words: str) -> None:
    blank = dict.fromkeys((*charts.COUNTED, *charts.BOUNDS, charts.LONGER), 0)
    counts = Counts()
    counts.add(blank | columns)
    assert slowest(counts) == words


def test_shares_never_say_nothing_of_something() -> None:
    blank = dict.fromkeys((*charts.COUNTED, *charts.BOUNDS, charts.LONGER), 0)
    counts = Counts()
    assert share(counts, "failed") == "–"
    counts.add(blank | {"calls": 100_000, "failed": 1, "succeeded": 12_345, "refused": 0})
    assert [share(counts, kind) for kind in ("failed", "succeeded", "refused")] == ["under 0.1 %", "12.3 %", "0 %"]


def test_bars_stand_on_each_other_within_the_picture(tenant: Cast) -> None:
    me = tenant.alice.scope.user_id
    counted(tenant, me, **USUAL | {"calls": 20, "succeeded": 10, "refused": 6, "failed": 4})
    drawn = drawing.calls(own(tenant.alice, "day"))
    assert (drawn.top, drawn.half, len(drawn.bars)) == ("20", "10", 24)
    assert [(piece.kind, piece.y, piece.height) for piece in drawn.bars[-1].pieces] == [
        ("succeeded", 50, 50), ("refused", 20, 30), ("failed", 0, 20)
    ]  # fmt: skip
    assert drawn.bars[-1].words.endswith(": 20 calls, 6 refused, 4 failed")
    assert all(bar.x >= 0 and bar.x + bar.width <= drawing.WIDTH for bar in drawn.bars)


def test_a_line_breaks_off_where_nothing_was_called_and_a_lone_value_is_a_dot(tenant: Cast) -> None:
    me = tenant.alice.scope.user_id
    for back in (0, 3, 4):
        counted(tenant, me, back=timedelta(hours=back))
    drawn = drawing.latency(own(tenant.alice, "day"))
    assert drawn is not None
    for line in drawn.lines:
        assert re.fullmatch(r"M\S+ \S+L\S+ \S+M\S+ \S+", line.path)
        assert re.fullmatch(r"M\S+ \S+h0", line.dots)


@pytest.mark.parametrize("query", ["range=year", "user=nobody", "tool=" + "x" * 3000])
def test_odd_requests_are_no_error(tenant: Cast, query: str) -> None:
    for reader in (tenant.alice, tenant.dana):
        assert signed_in(reader).get(f"/history/charts/?{query}").status_code == 200
