"""Conversations and their messages."""

import json
import uuid

import httpx
import pytest
from django.db import connection

from gateway.runs.conversations import search as conversation_search
from tenants.scope import transactions
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

PATH = "/api/v1/conversations/"


def test_a_conversation_is_made_renamed_listed_and_deleted(stack: Stack, tenant: Cast) -> None:
    with httpx.Client(base_url=stack.url, headers=tenant.alice.headers) as client:
        made = client.post(PATH, json={"title": "Shopping"})
        assert made.status_code == 201
        assert set(made.json()) == {"id", "title", "kind", "parent_id", "labels", "created_at", "updated_at"}
        path = f"{PATH}{made.json()['id']}/"
        assert client.get(path).json() == made.json()
        renamed = client.patch(path, json={"title": "Errands"})
        assert (renamed.status_code, renamed.json()["title"]) == (200, "Errands")
        assert [each["title"] for each in client.get(PATH).json()["results"]] == ["Errands"]
        assert client.get(f"{path}messages/").json() == {"next": None, "previous": None, "results": []}
        gone = client.delete(path)
        assert (gone.status_code, gone.content) == (204, b"")
        assert client.get(path).status_code == 404
        assert client.delete(path).status_code == 404


def test_a_chat_goes_on_in_a_conversation_made_before(stack: Stack, tenant: Cast) -> None:
    made = httpx.post(stack.url + PATH, json={}, headers=tenant.alice.headers).json()
    run = stack.chat(tenant.alice, "hello", conversation_id=made["id"]).json()
    assert run["conversation_id"] == made["id"]
    messages = stack.get(tenant.alice, f"{PATH}{made['id']}/messages/").json()["results"]
    assert [(each["role"], each["content"]) for each in messages] == [("user", "hello"), ("assistant", run["content"])]
    assert all(set(each) == {"id", "role", "content", "attachments", "run_id", "created_at"} for each in messages)
    assert messages[1]["id"] == run["id"]
    assert {each["run_id"] for each in messages} == {run["run_id"]}


def test_the_last_used_comes_first(stack: Stack, tenant: Cast) -> None:
    first, second = (stack.chat(tenant.alice, text).json()["conversation_id"] for text in ("one", "two"))
    stack.chat(tenant.alice, "three", conversation_id=first)
    listed = stack.get(tenant.alice, PATH).json()["results"]
    assert [(each["id"], each["title"]) for each in listed] == [(first, "one"), (second, "two")]


def test_deleting_a_conversation_keeps_its_tool_calls_on_record(stack: Stack, tenant: Cast) -> None:
    run = stack.chat(tenant.alice, 'call: save_note {"title": "a", "content": "b"}').json()
    path = f"{PATH}{run['conversation_id']}/"
    assert httpx.delete(stack.url + path, headers=tenant.alice.headers).status_code == 204
    assert stack.get(tenant.alice, f"/api/v1/runs/{run['run_id']}").status_code == 404
    for table in ("messages", "turns", "runs"):
        assert rows(f"SELECT id FROM {table} WHERE tenant_id = %(t)s", t=tenant.id) == []
    call = stack.get(tenant.alice, f"/api/v1/tool-calls/{run['tool_calls'][0]['id']}/").json()
    assert call["conversation_id"] == run["conversation_id"]
    assert len(rows("SELECT seq FROM ledger_entries WHERE tenant_id = %(t)s", t=tenant.id)) == 2


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'"x"', b"{", b'{"title": 1, "x"', b'{"title": ["a"]}', b'{"title": {"a": 1}}', b'{"title": null}',
     json.dumps({"title": "x" * 201}).encode(), b'{"title": "a\\u0000b"}', b'{"title": "\\ud800"}',
     b'{"title": ' + b"[" * 100_000],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_title_that_makes_no_sense_is_a_problem(stack: Stack, tenant: Cast, method: str, body: bytes) -> None:
    made = httpx.post(stack.url + PATH, json={"title": "before"}, headers=tenant.alice.headers).json()
    url = stack.url + PATH + (f"{made['id']}/" if method == "PATCH" else "")
    headers = tenant.alice.headers | {"Content-Type": "application/json"}
    answer = httpx.request(method, url, content=body, headers=headers)
    if answer.status_code >= 300:
        assert answer.status_code == 400, answer.text
        assert answer.json()["code"] == "invalid_request"
        assert answer.headers["content-type"] == "application/problem+json"
    else:
        assert body in (b"", b"{}"), answer.text
    titles = rows("SELECT title FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)
    assert {each["title"] for each in titles} <= {"before", ""}


def test_ids_and_owners_cannot_be_chosen(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    wanted = str(uuid.uuid4())
    body = {
        "id": wanted, "tenant_id": str(other_tenant.id), "tenant": str(other_tenant.id),
        "user_id": str(tenant.bob.scope.user_id), "user": str(tenant.bob.scope.user_id), "title": "mine",
    }  # fmt: skip
    made = httpx.post(stack.url + PATH, json=body, headers=tenant.alice.headers).json()
    assert made["id"] != wanted
    [row] = rows("SELECT tenant_id, user_id FROM conversations WHERE id = %(id)s", id=made["id"])
    assert row == {"tenant_id": tenant.id, "user_id": tenant.alice.scope.user_id}
    httpx.patch(f"{stack.url}{PATH}{made['id']}/", json=body, headers=tenant.alice.headers)
    [row] = rows("SELECT tenant_id, user_id FROM conversations WHERE id = %(id)s", id=made["id"])
    assert row == {"tenant_id": tenant.id, "user_id": tenant.alice.scope.user_id}


def found(stack: Stack, person: Person, words: str) -> list[str]:
    """The titles of a search over REST, last used first."""
    answer = httpx.get(stack.url + PATH, params={"q": words}, headers=person.headers)
    assert answer.status_code == 200, answer.text
    return [each["title"] for each in answer.json()["results"]]


def test_words_are_found_in_titles_and_in_messages_each_in_the_same_one(stack: Stack, tenant: Cast) -> None:
    plan = stack.chat(tenant.alice, "The Zürich plan").json()["conversation_id"]
    stack.chat(tenant.alice, "50% of_it is ready\nand more", conversation_id=plan)
    stack.chat(tenant.alice, "Nothing of that")
    httpx.patch(f"{stack.url}{PATH}{plan}/", json={"title": "Renamed"}, headers=tenant.alice.headers)
    expected = {
        "": 2, "  ": 2, "ZÜRICH": 1, "plan zürich": 1, "plan ready": 0, "renamed": 1, "50% of_it": 1, "50_": 0,
        "o__it": 0, "%": 1, "\\": 0, "demo model": 2, "it' OR 1=1 --": 0, "{a,b}": 0, "a\u202eb": 0,
    }  # fmt: skip
    assert {words: len(found(stack, tenant.alice, words)) for words in expected} == expected
    assert found(stack, tenant.alice, "zürich") == ["Renamed"]


def test_nobody_finds_what_another_person_or_tenant_said(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    stack.chat(tenant.bob, "The secret word is xylophone")
    stack.chat(other_tenant.alice, "Another xylophone")
    assert found(stack, tenant.alice, "xylophone") == []
    assert found(stack, tenant.olga, "xylophone") == []
    assert found(stack, tenant.bob, "xylophone") == ["The secret word is xylophone"]


def test_a_search_beyond_its_bounds_is_refused_or_finds_nothing(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, "hello")
    answer = httpx.get(stack.url + PATH, params={"q": "x" * 201}, headers=tenant.alice.headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_request", "q")
    answer = httpx.get(stack.url + PATH, params={"q": "hello\x00"}, headers=tenant.alice.headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    page = httpx.get(f"{stack.url}/", params={"q": "x" * 201}, cookies={"sessionid": session_of(tenant.alice)})
    assert page.status_code == 404


def test_a_search_goes_on_over_pages(stack: Stack, tenant: Cast) -> None:
    for number in range(3):
        httpx.post(stack.url + PATH, json={"title": f"Trip {number}"}, headers=tenant.alice.headers)
        httpx.post(stack.url + PATH, json={"title": f"Other {number}"}, headers=tenant.alice.headers)
    first = httpx.get(stack.url + PATH, params={"q": "trip", "limit": 2}, headers=tenant.alice.headers).json()
    rest = httpx.get(first["next"], headers=tenant.alice.headers).json()
    titles = [each["title"] for each in (*first["results"], *rest["results"])]
    assert sorted(titles) == ["Trip 0", "Trip 1", "Trip 2"]
    assert rest["next"] is None


def test_a_search_reads_a_bounded_part_of_ones_own_messages_by_their_index(tenant: Cast) -> None:
    with transactions.scope(*tenant.alice.scope), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        query, values = conversation_search.own(tenant.alice.principal, "a%b word").query.sql_with_params()
        cursor.execute(f"EXPLAIN {query}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "messages_latest" in plan
    assert "Limit" in plan
