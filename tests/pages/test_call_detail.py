"""One call's page: what it shows of hostile, huge, waiting and erased calls, and what it costs."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.identifiers import uuid7
from tests.database import rows
from tests.pages.call_rows import row, signed_in
from tests.people import Cast

MOST_BYTES = 100_000
FAILED = {"status": "error", "error_code": "timeout", "output": None}
HTMX = {"HX-Request": "true"}
NO_QUERY = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
# The session and its user, the membership, the scope, the call, its entries, the memberships in the bar.
OWN = 8
# And: who it was made for, the record, the approvals that wait (within the scope once more).
OTHERS = OWN + 4


def _text(tenant: Cast, call: uuid.UUID, reader: str = "alice") -> str:
    answer = signed_in(getattr(tenant, reader)).get(f"/history/{call}/")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(("reader", "most"), [("alice", OWN), ("dana", OTHERS)])
def test_a_call_costs_few_queries(tenant: Cast, reader: str, most: int) -> None:
    call = row(tenant.alice)
    client = signed_in(getattr(tenant, reader))
    # The first request notes the session.
    client.get("/settings/")
    with CaptureQueriesContext(connection) as captured:
        assert client.get(f"/history/{call}/").status_code == 200
    asked = [query["sql"] for query in captured.captured_queries if not query["sql"].startswith(NO_QUERY)]
    assert len(asked) == most, "\n".join(asked)
    assert not any('"row_key",' in sql for sql in asked)


@pytest.mark.parametrize(
    "columns",
    [
        {"output": {"text": '<img src=x onerror="alert(1)">' * 30_000}},
        {"output": {"text": "\u202e" * 300_000}, "input": {"a": "\u200b" * 300_000}},
        {"input": None, "input_raw": '{"a": "' + "&" * 60_000, "error_message": "<b>" * 50_000} | FAILED,
        {"side_effects": [{"kind": "k" * 500, "id": "i" * 500, "action": "made"}] * 2000},
    ],
)
def test_a_huge_call_is_cut_on_the_page_and_whole_a_link_away(tenant: Cast, columns: dict[str, object]) -> None:
    call = row(tenant.alice, **columns)
    page = _text(tenant, call)
    assert len(page.encode()) < MOST_BYTES
    assert "<img src=x" not in page and "\u202e" not in page and "\u200b" not in page
    if "side_effects" not in columns:
        assert f'That is its beginning. <a href="/api/v1/tool-calls/{call}/">The whole call as JSON</a>' in page


def test_what_fits_is_shown_whole(tenant: Cast) -> None:
    value = {"n": [1, 2.5, None, True], "title": 'a "quoted" <title>'}
    page = _text(tenant, row(tenant.alice, input=value))
    escaped = json.dumps(value, indent=2).replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    assert escaped in page
    assert "That is its beginning" not in page


def test_where_the_time_went_is_drawn_and_told(tenant: Cast) -> None:
    start = datetime.now(UTC) - timedelta(minutes=5)
    times = {name: start + timedelta(seconds=at) for name, at in (("queued_at", 120), ("started_at", 121))}
    call = row(tenant.alice, created_at=start, approval_id=uuid7(), finished_at=start + timedelta(seconds=200), **times)
    page = _text(tenant, call)
    for kind, x, width in (("held", 0, 600), ("queue", 600, 5), ("ran", 605, 395)):
        assert f'<rect class="{kind}" x="{x}" y="0" width="{width}" height="10">' in page
    for words in ("Waited for approval: 2 min 0 s", "Waited for a worker: 1.0 s", "Ran: 1 min 19 s"):
        assert words in page


def test_an_erased_call_says_when_and_by_whom_and_shows_nothing(tenant: Cast) -> None:
    erasure = uuid7()
    call = row(tenant.alice, input=None, output=None, display="", row_key=None, params_hash=None)
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(
            "INSERT INTO erasures (id, tenant_id, scope, subject_id, actor_id, reason, calls, row_key, created_at)"
            " VALUES (%s, %s, 'call', %s, %s, 'She <asked> for it', 1, 'key', '2026-11-20 10:00Z')",
            [erasure, tenant.id, call, tenant.olga.scope.user_id],
        )
        owner.execute(
            "INSERT INTO ledger_entries (tenant_id, call_id, record_id, kind, version, commitment)"
            " VALUES (%s, %s, %s, 'erased', 3, %s)",
            [tenant.id, call, erasure, b"c" * 32],
        )
    page = _text(tenant, call)
    assert f"20 Nov 2026, 10:00:00 UTC</time> by {tenant.olga.username}" in page
    assert "Reason: She &lt;asked&gt; for it" in page
    assert "None are recorded" not in page and "The tool returned nothing" not in page


def test_inside_the_list_it_is_a_part_and_silent_while_nothing_changed(tenant: Cast) -> None:
    call = row(tenant.alice, status="running", finished_at=None)
    client = signed_in(tenant.alice)
    part = client.get(f"/history/{call}/", headers=HTMX)
    assert "<html" not in part.content.decode() and "Open it on a page of its own" in part.content.decode()
    assert "HX-Request" in part["Vary"]
    assert client.get(f"/history/{call}/?seen=running", headers=HTMX).status_code == 204
    assert client.get(f"/history/{call}/?seen=queued", headers=HTMX).status_code == 200


def test_only_other_peoples_calls_leave_a_record_and_none_that_may_not_be_seen(
    tenant: Cast, other_tenant: Cast
) -> None:
    call = row(tenant.alice)
    _text(tenant, call)
    for stranger in (tenant.bob, other_tenant.dana):
        assert signed_in(stranger).get(f"/history/{call}/").status_code == 404
    reads = "SELECT reader_id, user_id, call_id, action, via FROM history_reads WHERE call_id = %(call)s"
    assert rows(reads, call=call) == []
    _text(tenant, call, "dana")
    assert rows(reads, call=call) == [
        {
            "reader_id": tenant.dana.scope.user_id, "user_id": tenant.alice.scope.user_id, "call_id": call,
            "action": "detail", "via": "page",
        }
    ]  # fmt: skip
