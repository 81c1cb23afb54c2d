"""The history page's queries and its manners towards odd requests."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.calls import first_id_at
from audit.identifiers import uuid7
from tests.browser.sessions import session_of
from tests.people import Cast, Person


@contextmanager
def queries_of(pages: str) -> Iterator[list[str]]:
    """Collects the SQL that names a table."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    found += [query["sql"] for query in captured.captured_queries if pages in query["sql"]]


def calls(person: Person, count: int) -> list[uuid.UUID]:
    """Rows as a finished call leaves them, oldest first."""
    made = []
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        for _ in range(count):
            made.append(uuid7())
            owner.execute(
                "INSERT INTO tool_calls (id, tenant_id, user_id, conversation_id, message_id, run_id, turn, position,"
                " tool_name, tier, input, output, display, status, decision, row_key, created_at, time_limit_ms)"
                " VALUES (%s, %s, %s, %s, %s, %s, 1, 0, 'list_tasks', 'read_only', '{}', %s, '0 tasks', 'success',"
                " '[]', 'key', %s, 1000)",
                [made[-1], *person.scope, *(uuid7() for _ in range(3)), json.dumps({"tasks": []}), datetime.now(UTC)],
            )
    return made


def signed_in(person: Person) -> Client:
    """A client that is logged in."""
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client


@pytest.mark.parametrize("reader", ["alice", "dana"])
def test_a_page_costs_the_same_queries_however_many_rows_it_has(tenant: Cast, reader: str) -> None:
    client = signed_in(getattr(tenant, reader))
    counts = []
    for more in (1, 40):
        calls(tenant.alice, more)
        with queries_of('FROM "tool_calls"') as to_calls, queries_of('FROM "users"') as to_users:
            assert client.get("/history/").status_code == 200
        counts.append((len(to_calls), len(to_users)))
        assert not any("OFFSET" in sql or "COUNT(" in sql for sql in to_calls)
        # Nothing heavy is read for a list, and of the key only whether it is there.
        assert not any('"output"' in sql or '"row_key",' in sql for sql in to_calls)
    assert counts[0] == counts[1]
    assert counts[0][0] == 2


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
        *("status=nonsense", "error=x", "period=never", "before=1", "conversation=1", "q=%00", "tool=%00"),
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
