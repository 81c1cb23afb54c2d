"""Another tenant's ids, and another user's, are 404 on every route and in every body."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.urls import URLPattern, URLResolver

from gateway.config.urls import urlpatterns
from tests.database import rows
from tests.hostile.upstream import ORIGIN
from tests.people import Cast, Person, make_tenant
from tests.rights.action import areas
from tests.stack import Stack
from tests.tenants.browser import with_session

WORK = 'call: save_note {"title": "a", "content": "b"}'
ACTIONS = [action for of_area in areas().values() for action in of_area]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _routes(patterns: list[Any], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if not path.startswith("admin/"):
                yield from _routes(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path


WITH_ID = sorted(route for route in _routes(urlpatterns) if "<uuid:" in route)
API = [route for route in WITH_ID if route.startswith("api/")]
PAGES = [route for route in WITH_ID if not route.startswith("api/")]


def test_the_routes_with_ids_are_found() -> None:
    assert len(API) >= 8
    assert len(PAGES) >= 1


def _ids(stack: Stack, person: Person) -> dict[str, str]:
    """What a route's id can be an id of: everything that the person's chat left."""
    run = stack.chat(person, WORK).json()
    return {
        "run": run["run_id"], "conversation": run["conversation_id"], "message": run["id"],
        "call": run["tool_calls"][0]["id"], "note": run["tool_calls"][0]["output"]["note_id"],
    }  # fmt: skip


def _everything(cast: Cast) -> list[dict[str, Any]]:
    # The sealer may give an entry its place meanwhile.
    unplaced = "to_jsonb(x) - 'leaf_index' - 'tenant_index'"
    found: list[dict[str, Any]] = []
    for table in ("conversations", "runs", "messages", "turns", "tool_calls", "notes", "ledger_entries"):
        found += rows(
            f"SELECT '{table}' AS of, ({unplaced})::text AS whole FROM {table} x WHERE tenant_id = %(t)s ORDER BY 2",
            t=cast.id,
        )
    return found


@pytest.fixture(scope="module")
def others(stack: Stack) -> tuple[Cast, dict[str, str]]:
    """A tenant whose alice has chatted, and the ids of that: nobody here changes them."""
    cast = make_tenant()
    return cast, _ids(stack, cast.alice)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("route", API)
def test_an_api_route_does_not_know_another_tenants_ids(
    stack: Stack, tenant: Cast, others: tuple[Cast, dict[str, str]], route: str, method: str
) -> None:
    other_tenant, ids = others
    before = _everything(other_tenant)
    with httpx.Client(base_url=stack.url, headers=tenant.olga.headers) as client:
        for kind, value in ids.items():
            path, nowhere = (re.sub(r"<uuid:\w+>", each, route) for each in (value, str(uuid.uuid4())))
            answer = client.request(method, f"/{path}", json={"title": "x"})
            if answer.status_code == 405:
                continue
            assert answer.status_code == 404, (kind, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            # Nothing tells what exists elsewhere from what does not exist at all.
            unknown = client.request(method, f"/{nowhere}", json={"title": "x"})
            assert unknown.text.replace(nowhere.split("/")[3], value) == answer.text
    assert _everything(other_tenant) == before


def _refused(route: str, role: str) -> bool:
    """Whether the role may not do something there, by the table of rights."""
    path = re.sub(r"<\w+:(\w+)>", r"<\1>", f"/{route}")
    listed = [(action.may, request) for action in ACTIONS for request in action.api]
    return any(request.partition(" ")[2] == path and role not in may for may, request in listed)


@pytest.mark.parametrize("route", [route for route in API if not route.startswith("api/v1/tool-calls/")])
def test_an_api_route_does_not_know_another_users_ids(stack: Stack, tenant: Cast, route: str) -> None:
    ids = _ids(stack, tenant.alice)
    before = _everything(tenant)
    for role, person in (("member", tenant.bob), ("auditor", tenant.dana), ("owner", tenant.olga)):
        # What belongs to the tenant: who may not read or change it at all is told so.
        refusals = {404, 405} | ({403} if _refused(route, role) else set())
        with httpx.Client(base_url=stack.url, headers=person.headers) as client:
            for value in ids.values():
                path = re.sub(r"<uuid:\w+>", value, route)
                codes = {client.request(method, f"/{path}", json={"title": "x"}).status_code for method in METHODS}
                assert codes <= refusals
    assert _everything(tenant) == before


@pytest.mark.parametrize("way", [{}, {"Origin": ORIGIN}], ids=["fast", "django"])
def test_a_body_cannot_name_another_tenants_or_users_conversation(
    stack: Stack, tenant: Cast, other_tenant: Cast, way: dict[str, str]
) -> None:
    conversation = _ids(stack, other_tenant.alice)["conversation"]
    bobs = _ids(stack, tenant.bob)["conversation"]
    before = _everything(other_tenant) + _everything(tenant)
    for taken in (conversation, bobs):
        for person in (tenant.alice, tenant.olga):
            answer = stack.chat(person, "hello", conversation_id=taken, headers=way)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert _everything(other_tenant) + _everything(tenant) == before


def test_a_body_cannot_name_another_tenants_agent(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    from gateway.models import Agent
    from tenants.scope.routing import on_login

    with on_login("operator"):
        Agent.objects.create(tenant_id=other_tenant.id, slug="theirs", name="Theirs", tools="all")
    assert stack.chat(other_tenant.alice, "hello", agent="theirs").status_code == 200
    answer = stack.chat(tenant.alice, "hello", agent="theirs")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent")
    assert stack.get(tenant.alice, "/api/v1/tools/?agent=theirs").status_code == 404


def test_filters_do_not_reach_across(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    ids = _ids(stack, other_tenant.alice)
    for query in (f"?conversation={ids['conversation']}", f"?run={ids['run']}", f"?user={other_tenant.alice.username}",
                  f"?user={other_tenant.alice.scope.user_id}", "?q=a", ""):  # fmt: skip
        for person in (tenant.alice, tenant.dana, tenant.olga):
            assert stack.get(person, f"/api/v1/tool-calls/{query}").json()["results"] == []


@pytest.mark.parametrize("route", PAGES)
def test_a_page_does_not_know_another_tenants_ids(
    stack: Stack, tenant: Cast, others: tuple[Cast, dict[str, str]], route: str
) -> None:
    _, ids = others
    # What is an owner's is refused to others before anything is looked for.
    with with_session(stack, tenant.olga) as browser:
        for value in ids.values():
            assert browser.get("/" + re.sub(r"<uuid:\w+>", value, route)).status_code in (404, 405)
    with with_session(stack, tenant.alice) as browser:
        for value in ids.values():
            assert browser.get("/" + re.sub(r"<uuid:\w+>", value, route)).status_code in (403, 404, 405)
        for query in ("c", "after", "before"):
            for value in ids.values():
                answer = browser.get(f"/?{query}={value}")
                assert answer.status_code in (200, 404)
                assert value not in answer.text
        assert browser.get(f"/?c={ids['conversation']}").status_code == 404
