"""Erasing over REST, and how long a tenant keeps payloads."""

import uuid
from typing import Any

import httpx
import pytest

from tenants.models import Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

PATH = "/api/v1/erasures/"
TENANT = "/api/v1/tenant/"
NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'


def _post(stack: Stack, person: Person, **body: Any) -> httpx.Response:
    return httpx.post(stack.url + PATH, json=body, headers=person.headers)


def _gone(tenant: Cast) -> list[bool]:
    found = rows("SELECT row_key IS NULL AS gone FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    return [row["gone"] for row in found]


def _narrow_key(person: Person, *scopes: str) -> dict[str, str]:
    with on_login("operator"):
        membership = Membership.objects.get(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id)
        _, key = keys.create(membership=membership, scopes=list(scopes))
    return {"Authorization": f"Bearer {key}"}


def test_an_owner_erases_a_call_a_conversation_and_a_user(stack: Stack, tenant: Cast) -> None:
    runs = [stack.chat(tenant.alice, NOTE).json() for _ in range(3)]
    call = runs[0]["tool_calls"][0]["id"]
    answer = _post(stack, tenant.olga, call=call, reason="A slip.")
    assert answer.status_code == 201, answer.text
    [row] = rows("SELECT * FROM erasures WHERE tenant_id = %(t)s", t=tenant.id)
    assert answer.json() == {
        "scope": "call", "subject_id": call, "reason": "A slip.", "calls": 1, "conversations": 0, "stored": 0,
        "erasures": [str(row["id"])],
    }  # fmt: skip
    again = _post(stack, tenant.olga, call=call)
    assert (again.status_code, again.json()["calls"], again.json()["erasures"]) == (200, 0, [])
    assert _gone(tenant) == [True, False, False]
    answer = _post(stack, tenant.olga, conversation=runs[1]["conversation_id"])
    assert (answer.status_code, answer.json()["calls"], answer.json()["conversations"]) == (201, 1, 1)
    answer = _post(stack, tenant.olga, user=str(tenant.alice.scope.user_id))
    assert (answer.status_code, answer.json()["calls"], answer.json()["conversations"]) == (201, 1, 2)
    assert _gone(tenant) == [True, True, True]
    listed = stack.get(tenant.dana, PATH).json()["results"]
    assert [(each["scope"], each["calls"]) for each in listed] == [("user", 1), ("conversation", 1), ("call", 1)]
    assert listed[2]["actor"] == {"id": str(tenant.olga.scope.user_id), "username": tenant.olga.username}
    assert set(listed[0]) == {"id", "scope", "subject_id", "low", "high", "actor", "reason", "calls", "created_at"}
    page = stack.get(tenant.olga, PATH, params={"limit": 2}).json()
    assert len(page["results"]) == 2 and page["next"] and page["previous"] is None


def test_others_are_told_no_more_than_they_may_see(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    run = stack.chat(tenant.alice, NOTE).json()
    subjects = {
        "call": run["tool_calls"][0]["id"],
        "conversation": run["conversation_id"],
        "user": str(tenant.alice.scope.user_id),
    }
    for scope, subject in subjects.items():
        for person, expected in (
            (tenant.bob, (404, "not_found")), (tenant.carol, (404, "not_found")), (tenant.dana, (403, "not_an_owner")),
            (other_tenant.olga, (404, "not_found")),
        ):  # fmt: skip
            answer = _post(stack, person, **{scope: subject})
            assert (answer.status_code, answer.json()["code"]) == expected
        # An owner's key that was narrowed is no owner's.
        narrowed = _narrow_key(tenant.olga, "chat", "history:read")
        answer = httpx.post(stack.url + PATH, json={scope: subject}, headers=narrowed)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_an_owner")
    assert _gone(tenant) == [False]
    assert rows("SELECT id FROM erasures WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert stack.get(tenant.alice, PATH).status_code == 403
    reading = _narrow_key(tenant.alice, "history:read")
    assert httpx.post(stack.url + PATH, json={"call": subjects["call"]}, headers=reading).status_code == 403
    assert _post(stack, tenant.alice, call=subjects["call"]).status_code == 201


@pytest.mark.parametrize(
    "body",
    [{}, {"call": "x"}, {"call": str(uuid.uuid4()), "user": str(uuid.uuid4())}, {"reason": "x"}, {"call": None},
     {"call": str(uuid.uuid4()), "reason": "x" * 2001}, {"call": str(uuid.uuid4()), "reason": "a\x00b"}, [], "x"],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_a_problem(stack: Stack, tenant: Cast, body: Any) -> None:
    answer = httpx.post(stack.url + PATH, json=body, headers=tenant.olga.headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.text


def test_deleting_a_conversation_keeps_payloads_unless_they_are_to_be_erased(stack: Stack, tenant: Cast) -> None:
    kept, erased = (stack.chat(tenant.alice, NOTE).json()["conversation_id"] for _ in range(2))
    for conversation, query in ((kept, ""), (erased, "?erase=true")):
        url = f"{stack.url}/api/v1/conversations/{conversation}/{query}"
        assert httpx.delete(url, headers=tenant.bob.headers).status_code == 404
        assert httpx.delete(url, headers=tenant.alice.headers).status_code == 204
        assert httpx.delete(url, headers=tenant.alice.headers).status_code == 404
    assert _gone(tenant) == [False, True]
    assert rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_what_is_still_under_way_is_a_conflict(stack: Stack, tenant: Cast) -> None:
    run = stack.chat(tenant.alice, 'call: send_email {"to": "bob@example.com", "subject": "a", "body": "b"}').json()
    for body, code in (
        ({"call": run["tool_calls"][0]["id"]}, "still_open"),
        ({"conversation": run["conversation_id"]}, "conversation_busy"),
        ({"user": str(tenant.alice.scope.user_id)}, "still_open"),
    ):
        answer = _post(stack, tenant.olga, **body)
        assert (answer.status_code, answer.json()["code"]) == (409, code)
    url = f"{stack.url}/api/v1/conversations/{run['conversation_id']}/?erase=true"
    assert httpx.delete(url, headers=tenant.alice.headers).status_code == 409
    assert _gone(tenant) == [False]


def test_an_owner_says_how_long_payloads_are_kept(stack: Stack, tenant: Cast) -> None:
    seen = stack.get(tenant.alice, TENANT).json()
    assert seen == {
        "id": str(tenant.id), "slug": tenant.slug, "name": seen["name"], "retention_days": None,
        "second_factor_required": False, "fetch_hosts": [], "taint": "ask", "erased_until": None,
    }  # fmt: skip
    for days in (30, 1, 36_500, None):
        answer = httpx.patch(stack.url + TENANT, json={"retention_days": days}, headers=tenant.olga.headers)
        assert (answer.status_code, answer.json()["retention_days"]) == (200, days)
    for person in (tenant.alice, tenant.carol, tenant.dana):
        answer = httpx.patch(stack.url + TENANT, json={"retention_days": 5}, headers=person.headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    wrong: list[Any] = [0, -1, 36_501, "x", 1.5, [], 10**30, True]
    for value in wrong:
        answer = httpx.patch(stack.url + TENANT, json={"retention_days": value}, headers=tenant.olga.headers)
        assert (answer.status_code, answer.json()["code"]) in ((400, "invalid_request"), (200, None)), answer.text
        assert value is True or answer.status_code == 400
    ignored = {"name": "x", "slug": "x", "erased_until": "2020-01-01T00:00:00Z"}
    assert httpx.patch(stack.url + TENANT, json=ignored, headers=tenant.olga.headers).status_code == 200
    assert stack.get(tenant.alice, TENANT).json()["slug"] == tenant.slug
    [row] = rows("SELECT slug, erased_until FROM tenants WHERE id = %(t)s", t=tenant.id)
    assert row == {"slug": tenant.slug, "erased_until": None}
