"""The page of who looked, and the question before a call is erased."""

import asyncio
import uuid
from typing import Any

import pytest
from django.db import connections
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from audit.history import access_pages, reads
from audit.models import ToolCall
from tenants.scope import transactions
from tests.audit.calls import INPUT
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
PATH = "/history/access/"


def _signed_in(person: Person) -> Client:
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client


def _posted(person: Person, path: str, **form: str) -> HttpResponse:
    """A form's answer, in an event loop as the servers have one, whose connections are closed with it."""

    client = AsyncClient()
    client.cookies["sessionid"] = session_of(person)

    async def sent() -> HttpResponse:
        try:
            return await client.post(path, form)
        finally:
            await transactions.close_pools()

    return asyncio.run(sent())


def _page(person: Person, path: str = PATH, /, **query: str) -> str:
    answer = _signed_in(person).get(path, query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def _looked(reader: Person, *people: Person, **more: Any) -> None:
    shown = [ToolCall(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id) for person in people]
    values: dict[str, Any] = {"action": "list", "via": "page", **more}
    with transactions.scope(*reader.scope):
        reads.of_calls(reader_id=reader.scope.user_id, calls=shown, **values)


def _call(stack: Stack, person: Person) -> str:
    return str(stack.chat(person, NOTE).json()["tool_calls"][0]["id"])


def test_auditors_and_owners_read_who_looked_at_whose_calls(tenant: Cast, other_tenant: Cast) -> None:
    call = uuid.uuid4()
    _looked(tenant.dana, tenant.alice, tenant.alice, tenant.bob, filters={"q": "<b>milk"})
    _looked(tenant.olga, tenant.bob, action="detail", via="api", call_id=call)
    _looked(other_tenant.dana, other_tenant.alice)
    for reader in (tenant.dana, tenant.olga):
        page = _page(reader)
        assert page.count("<li>") == 3
        assert f"saw in a list 2 of {tenant.alice.username}’s calls on the pages" in page
        assert f'<a href="/history/{call}/">{tenant.bob.username}’s call</a> over the API' in page
        assert "&lt;b&gt;milk" in page and "<b>milk" not in page
        assert other_tenant.dana.username not in page
    assert "<strong>You</strong> saw in a list" in _page(tenant.dana)


def test_members_read_who_looked_at_theirs_and_nothing_of_others(tenant: Cast) -> None:
    _looked(tenant.dana, tenant.alice, filters={"q": "about-alice"})
    _looked(tenant.dana, tenant.bob, filters={"q": "about-bob"})
    with transactions.scope(*tenant.dana.scope):
        reads.record(
            reader_id=tenant.dana.scope.user_id, shown={(tenant.id, None): 0}, action="export", via="api",
            filters={"q": "about-all"},
        )  # fmt: skip
    page = _page(tenant.alice)
    assert page.count("<li>") == 2
    assert "saw in a list one of your calls" in page and "about-alice" in page
    assert "exported everybody&#x27;s calls" in page
    assert "about-bob" not in page and "about-all" not in page and tenant.bob.username not in page
    assert _page(tenant.alice, person=tenant.bob.username).count("<li>") == 2


def test_the_log_is_narrowed_by_reader_and_by_person(tenant: Cast) -> None:
    _looked(tenant.dana, tenant.alice)
    _looked(tenant.olga, tenant.alice, tenant.bob)
    assert _page(tenant.dana, reader=tenant.olga.username).count("<li>") == 2
    assert _page(tenant.dana, reader=tenant.olga.username, person=tenant.alice.username).count("<li>") == 1
    assert "Nothing matches" in _page(tenant.dana, reader="nobody")
    for query in ({"before": "x"}, {"tab": "x"}, {"person": "x" * 500}):
        assert _signed_in(tenant.dana).get(PATH, query).status_code == 200


def test_pages_follow_each_other_at_the_same_cost(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_pages, "PAGE", 3)
    for number in range(7):
        _looked(tenant.dana, tenant.alice, filters={"q": f"word-{number}"})
    client, seen, costs, address = _signed_in(tenant.dana), "", [], PATH
    # The first request notes the session.
    client.get("/settings/")
    while address:
        with CaptureQueriesContext(connections["default"]) as sent:
            page = client.get(address).content.decode()
        costs.append(len(sent))
        seen += page
        address = PATH + page.partition('href="/history/access/?before=')[2].partition('"')[0]
        address = PATH + "?before=" + address[len(PATH) :] if len(address) > len(PATH) else ""
    assert [seen.count(f"word-{number}<") for number in range(7)] == [1] * 7
    assert len(costs) == 3 and len(set(costs)) == 1
    assert costs[0] <= 16, costs


def test_a_call_is_erased_after_a_question_and_the_log_says_by_whom(stack: Stack, tenant: Cast) -> None:
    call = _call(stack, tenant.alice)
    path = f"/history/{call}/erase/"
    question = _page(tenant.olga, path)
    assert "Erase this call of save_note?" in question and tenant.alice.username in question
    assert INPUT["title"] not in question
    answer = _posted(tenant.olga, path, reason="A mistake.\r\nHers.")
    assert (answer.status_code, answer["Location"]) == (302, f"/history/{call}/")
    [row] = rows("SELECT input, row_key FROM tool_calls WHERE id = %(id)s", id=call)
    assert row == {"input": None, "row_key": None}
    assert "Milk" not in _page(tenant.alice, f"/history/{call}/")
    for reader in (tenant.dana, tenant.alice):
        log = _page(reader, tab="erased")
        assert log.count("<li>") == 1
        assert f'<strong>{tenant.olga.username}</strong> erased <a href="/history/{call}/">one call' in log
        assert "A mistake." in log
    assert "Nothing was erased" in _page(tenant.bob, tab="erased")
    assert _page(tenant.dana, tab="erased", person=tenant.alice.username).count("<li>") == 1
    assert "Nothing matches" in _page(tenant.dana, tab="erased", person=tenant.bob.username)


def test_who_may_not_erase_is_not_asked(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    call = _call(stack, tenant.alice)
    for person, status in ((tenant.bob, 404), (tenant.dana, 403), (other_tenant.olga, 404)):
        assert _signed_in(person).get(f"/history/{call}/erase/").status_code == status
        assert _posted(person, f"/history/{call}/erase/").status_code == status
    [row] = rows("SELECT row_key IS NULL AS gone FROM tool_calls WHERE id = %(id)s", id=call)
    assert not row["gone"]
    assert _posted(tenant.alice, f"/history/{call}/erase/").status_code == 302


def test_a_call_that_waits_is_not_erased_and_the_page_says_why(stack: Stack, tenant: Cast) -> None:
    mail = 'call: send_email {"to": "bob@example.com", "subject": "a", "body": "b"}'
    call = stack.chat(tenant.alice, mail).json()["tool_calls"][0]["id"]
    answer = _posted(tenant.alice, f"/history/{call}/erase/", reason="Kept text")
    assert answer.status_code == 409
    assert "This call is not final yet" in answer.content.decode() and "Kept text" in answer.content.decode()
