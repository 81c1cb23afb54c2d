"""The history page's queries and its manners towards odd requests."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.identifiers import first_id_at, uuid7
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.call_rows import changed, row, signed_in
from tests.people import Cast, Person
from tests.stack import Stack

MOST_BYTES = 100_000
FAILED = {"status": "error", "error_code": "timeout", "error_message": "late", "output": None}
HTMX = {"HX-Request": "true"}


@contextmanager
def queries_of(pages: str) -> Iterator[list[str]]:
    """Collects the SQL that names a table."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    found += [query["sql"] for query in captured.captured_queries if pages in query["sql"]]


def calls(person: Person, count: int) -> list[uuid.UUID]:
    """Rows as a finished call leaves them, oldest first."""
    return [row(person) for _ in range(count)]


@pytest.mark.parametrize("reader", ["alice", "dana"])
def test_a_page_costs_the_same_queries_however_many_rows_it_has(tenant: Cast, reader: str) -> None:
    client = signed_in(getattr(tenant, reader))
    counts = []
    # Full pages: one that is not is looked for in older months too, by one more query.
    for more in (31, 40):
        calls(tenant.alice, more)
        with queries_of('FROM "tool_calls"') as to_calls, queries_of('FROM "users"') as to_users:
            assert client.get("/history/").status_code == 200
        counts.append((len(to_calls), len(to_users)))
        assert not any("OFFSET" in sql or "COUNT(" in sql for sql in to_calls)
        # Nothing heavy is read for a list, and of the key only whether it is there.
        assert not any('"output"' in sql or '"row_key",' in sql for sql in to_calls)
    assert counts[0] == counts[1]
    # The list; and the tools to choose from, looked for in older months too where the latest have few calls.
    assert counts[0][0] == 3


def test_pages_follow_each_other_without_gap_or_repetition(tenant: Cast) -> None:
    made = calls(tenant.alice, 65)
    client, seen, address = signed_in(tenant.alice), [], "/history/"
    while address:
        page = client.get(address).content.decode()
        seen += [uuid.UUID(part[:36]) for part in page.split('class="call-row" id="row-')[1:]]
        before = page.partition('hx-get="/history/?')[2].partition('"')[0]
        address = f"/history/?{before.replace('&amp;', '&')}" if "before=" in before else ""
    assert seen == list(reversed(made))


@pytest.mark.parametrize(
    "query",
    [
        *("status=nonsense", "error=x", "period=never", "before=1", "conversation=1"),
        *("user=%27%3B--", "q=" + "x" * 5000, "q=%25%5C_", "status=success&status=error"),
    ],
)
def test_a_filter_that_makes_no_sense_is_no_error(tenant: Cast, query: str) -> None:
    for reader in (tenant.alice, tenant.dana):
        assert signed_in(reader).get(f"/history/?{query}").status_code == 200


def test_htmx_is_answered_with_rows_alone_and_caches_are_told(tenant: Cast) -> None:
    calls(tenant.alice, 1)
    client = signed_in(tenant.alice)
    part = client.get("/history/", headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "call-row" in part.content.decode()
    assert "HX-Request" in part["Vary"]
    restored = client.get("/history/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in restored.content.decode()


def test_a_member_cannot_ask_for_another_persons_calls(tenant: Cast) -> None:
    calls(tenant.bob, 1)
    page = signed_in(tenant.alice).get(f"/history/?user={tenant.bob.username}").content.decode()
    assert "call-row" not in page


def test_the_first_id_of_a_moment_stands_before_every_id_made_then() -> None:
    before = datetime.now(UTC)
    assert first_id_at(before) <= uuid7()
    assert first_id_at(before).version == 7


def _shown(page: str) -> list[uuid.UUID]:
    return [uuid.UUID(found) for found in re.findall(r'class="call-row" id="row-([0-9a-f-]{36})"', page)]


def test_each_outcome_is_a_filter_and_a_chip_that_takes_it_away(tenant: Cast) -> None:
    made = {
        "success": row(tenant.alice),
        "failed": row(tenant.alice, **FAILED),
        "refused": row(tenant.alice, **FAILED | {"error_code": "not_allowed", "started_at": None, "attempt": 0}),
        "awaiting_approval": row(tenant.alice, status="awaiting_approval", finished_at=None, started_at=None),
        "in_progress": row(tenant.alice, status="running", finished_at=None),
        "erased": row(tenant.alice, input=None, output=None, display="", row_key=None),
    }
    client = signed_in(tenant.alice)
    found = {name: set(_shown(client.get(f"/history/?status={name}").content.decode())) for name in made}
    expected = {name: {call} for name, call in made.items()}
    expected["success"] |= {made["erased"]}
    assert found == expected
    both = client.get("/history/?status=error").content.decode()
    assert set(_shown(both)) == {made["failed"], made["refused"]}
    assert '<a class="chip" href="/history/" aria-label="Remove the filter Failed or refused">' in both


def test_a_chip_keeps_the_other_filters(tenant: Cast) -> None:
    page = signed_in(tenant.alice).get("/history/?tool=save_note&q=milk&tz=Europe/Berlin&since=2026-01-05")
    chips = re.findall(r'class="chip" href="([^"]+)" aria-label="Remove the filter ([^"]+)"', page.content.decode())
    assert chips == [
        ("/history/?tool=save_note&amp;since=2026-01-05&amp;tz=Europe%2FBerlin", "“milk”"),
        ("/history/?q=milk&amp;since=2026-01-05&amp;tz=Europe%2FBerlin", "Tool: save_note"),
        ("/history/?q=milk&amp;tool=save_note", "From 5 Jan 2026"),
    ]


def test_days_are_those_of_the_readers_time_zone_and_both_included(tenant: Cast) -> None:
    late = datetime(2026, 10, 1, 23, 30, tzinfo=UTC)
    call = row(tenant.alice, id=uuid.UUID(int=first_id_at(late).int + 1), created_at=late)
    client = signed_in(tenant.alice)

    def found(query: str) -> bool:
        return call in _shown(client.get(f"/history/?{query}").content.decode())

    assert found("since=2026-10-01&until=2026-10-01")
    assert not found("since=2026-10-02")
    assert found("since=2026-10-02&until=2026-10-02&tz=Europe/Berlin")
    assert not found("until=2026-10-01&tz=Europe/Berlin")
    assert found("since=2026-10-01&until=2026-10-01&tz=No/Such_Place")


def test_one_goes_back_to_newer_calls_the_way_one_came(tenant: Cast) -> None:
    made = calls(tenant.alice, 70)
    client = signed_in(tenant.alice)
    middle = client.get(f"/history/?before={made[20]}").content.decode()
    assert _shown(middle) == made[19::-1]
    newer = re.search(r'class="newer"><a class="button" href="([^"]+)">Newer calls<', middle)
    assert newer is not None
    page = client.get(newer[1]).content.decode()
    assert _shown(page) == made[49:19:-1]
    newest = client.get(f"/history/?after={made[69]}").content.decode()
    assert _shown(newest) == []
    assert "The newest calls" in newest


def test_what_has_changed_is_told_in_one_query_and_nothing_when_nothing_has(tenant: Cast) -> None:
    running = row(tenant.alice, status="running", finished_at=None, output=None, display="")
    waiting = row(tenant.alice, status="awaiting_approval", finished_at=None, started_at=None)
    bobs = row(tenant.bob, status="running", finished_at=None)
    client = signed_in(tenant.alice)
    address = f"/history/live/?open={running}.running,{waiting}.awaiting_approval,{bobs}.claimed,x.y"
    with queries_of('FROM "tool_calls"') as asked:
        assert client.get(address).status_code == 204
    assert len(asked) == 1
    changed(running, status="success", output={}, display="Found it", finished_at=datetime.now(UTC))
    shown = client.get(address).content.decode()
    assert f'hx-swap-oob="innerHTML:#row-{running}"' in shown
    assert "Found it" in shown and "Done" in shown
    assert str(waiting) not in shown and str(bobs) not in shown


def test_new_calls_are_told_by_their_number_and_only_those_that_match(tenant: Cast) -> None:
    [first] = calls(tenant.alice, 1)
    row(tenant.alice, tool_name="save_note")
    calls(tenant.alice, 2)
    client = signed_in(tenant.alice)
    assert "3 new calls" in client.get(f"/history/live/?newest={first}").content.decode()
    assert "1 new call<" in client.get(f"/history/live/?newest={first}&tool=save_note").content.decode()
    calls(tenant.alice, 20)
    assert "More than 20 new calls" in client.get(f"/history/live/?newest={first}").content.decode()


def test_a_page_of_thirty_rows_stays_small_whatever_is_in_them(tenant: Cast) -> None:
    hostile = "<script>alert(1)</script>\u202e" * 2000
    for _ in range(31):
        row(tenant.alice, tool_name=hostile[:200], display=hostile, **FAILED)
    page = signed_in(tenant.dana).get("/history/").content
    assert len(page) < MOST_BYTES
    assert b"<script>alert" not in page and "\u202e".encode() not in page


def test_an_auditors_list_is_on_record_before_it_is_shown_and_not_again_for_each_look(tenant: Cast) -> None:
    calls(tenant.alice, 3)
    client = signed_in(tenant.dana)
    client.get("/history/?status=success")
    client.get("/history/?status=success", headers=HTMX)
    client.get("/history/live/?newest=" + str(first_id_at(datetime.now(UTC) - timedelta(hours=1))))
    signed_in(tenant.alice).get("/history/")
    found = rows("SELECT * FROM history_reads WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert [(each["reader_id"], each["user_id"], each["calls"], each["filters"]) for each in found] == [
        (tenant.dana.scope.user_id, tenant.alice.scope.user_id, 3, {"status": "success"})
    ]


@pytest.mark.parametrize("path", ["/", "/history/", "/history/charts/", "/history/access/", "/approvals/"])
def test_a_nul_in_a_query_is_a_400_on_every_page(stack: Stack, tenant: Cast, path: str) -> None:
    cookies = {"sessionid": session_of(tenant.olga)}
    assert httpx.get(f"{stack.url}{path}?q=%00", cookies=cookies).status_code == 400
