"""Toolgate behind PgBouncer in transaction mode: fewer connections than requests, and no tenant's rows to another."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.conf import settings

from tests.database import rows
from tests.people import PASSWORD, Person, make_tenant
from tests.pooler import LOGINS, pooler, transactions
from tests.stack import Stack
from tests.tenants.browser import logged_in
from tests.waiting import until

CONNECTIONS = 3
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'


@pytest.fixture(scope="module")
def pooled() -> Iterator[Stack]:
    """A web process and a worker that reach PostgreSQL through the pooler alone."""
    urls = {name: settings.DATABASE_URLS[alias] for alias, name in LOGINS.items()}
    with pooler(urls, CONNECTIONS) as behind, Stack(**behind, DATABASE_PREPARED_STATEMENTS="0") as stack:
        yield stack


def _note(title: str) -> str:
    return f'call: save_note {{"title": "{title}", "content": "b"}}'


def test_two_tenants_share_three_connections_and_see_only_their_own(pooled: Stack) -> None:
    before = transactions(pooled.environment["DATABASE_URL"])
    casts = [make_tenant(), make_tenant()]
    asked: list[tuple[Person, str]] = [
        (person, f"{cast.slug}-{each}") for each in range(12) for cast in casts for person in (cast.alice, cast.bob)
    ]
    with ThreadPoolExecutor(24) as clients:
        answers = list(clients.map(lambda each: pooled.chat(each[0], _note(each[1])), asked))
    for (_, title), answer in zip(asked, answers, strict=True):
        assert answer.status_code == 200, answer.text
        [call] = answer.json()["tool_calls"]
        assert (call["status"], call["input"]["title"]) == ("success", title)
    for person in (cast.alice for cast in casts):
        listed = pooled.get(person, "/api/v1/tool-calls/?limit=100").json()["results"]
        assert {call["input"]["title"] for call in listed} == {title for who, title in asked if who is person}
    assert transactions(pooled.environment["DATABASE_URL"]) - before > len(asked)


def test_a_stream_an_approval_and_a_download(pooled: Stack) -> None:
    tenant = make_tenant(PASSWORD)
    streamed = pooled.chat(tenant.alice, _note("streamed"), stream=True)
    assert "event: run.completed" in streamed.text
    held = pooled.chat(tenant.alice, MAIL)
    assert held.status_code == 202, held.text
    approval = held.json()["required_action"]["approvals"][0]["id"]
    url = f"{pooled.url}/api/v1/approvals/{approval}/approve/"
    assert httpx.post(url, json={}, headers=tenant.carol.headers).status_code == 200
    run = f"/api/v1/runs/{held.json()['run_id']}"
    until(lambda: pooled.get(tenant.alice, run).json()["status"] == "completed")
    calls = rows("SELECT tool_name, status FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [tuple(call.values()) for call in calls] == [("save_note", "success"), ("send_email", "success")]
    with logged_in(pooled, tenant.dana) as browser:
        downloaded = browser.get("/history/export.csv")
    assert downloaded.status_code == 200, downloaded.text
    assert len(downloaded.text.strip().splitlines()) == 3
