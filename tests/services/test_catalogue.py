"""The catalogue: every entry makes a service, each tool is tried against its API as documented, and nobody but owners
adds one."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from yarl import URL

from services import changes, credentials, shown
from services.changes import NewService, Source
from services.connections import flow
from services.descriptors import catalogue
from services.errors import InvalidService
from services.offers.definition import Definition
from services.reading import drift, sources
from tenants.scope import transactions
from tests.database import rows
from tests.people import Cast
from tests.services.api import TOKEN, Api, Asked, as_json
from tests.services.calling import allowed, called, one, violation
from tests.services.documented import CALLS, HEADERS, TITLE, WHEN
from tools.errors import ToolCallRejected

HTTP = [name for name, entry in catalogue.ENTRIES.items() if entry.kind == "http"]


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with allowed():
        yield


def tool(entry: str, name: str) -> Definition:
    """A tool of an entry."""
    return one(catalogue.ENTRIES[entry].descriptor(), name)


def add(tenant: Cast, **given: Any) -> dict[str, Any]:
    """The service that a body makes, as REST adds it."""
    body = catalogue.body(given)
    wanted = NewService.read(body)
    source = Source(wanted.kind, changes.text_of(body["descriptor"], "descriptor"))
    with transactions.scope(*tenant.olga.scope):
        return shown.details(changes.add(tenant.id, wanted, source, catalogue.found(given["catalogue"]).suggested))


@pytest.mark.parametrize(
    ("entry", "name", "arguments", "method", "path", "query", "body"),
    [(entry, *each) for entry, calls in CALLS.items() for each in calls],
)
async def test_a_tool_sends_what_its_api_documents(
    api: Api, url: str, entry: str, name: str, arguments: Any, method: str, path: str, query: Any, body: Any
) -> None:
    api.on("/", as_json({"ok": True, "id": "1"}))
    credential = credentials.read({"type": "bearer", "token": TOKEN})
    assert await called(tool(entry, name), url, arguments, credential) == {"ok": True, "id": "1"}
    [asked] = api.asked
    assert (asked.method, asked.path, dict(asked.query)) == (method, path, query)
    assert (asked.json if asked.body else None) == body
    expected = {"authorization": f"Bearer {TOKEN}"} | HEADERS.get(entry, {})
    assert {name: asked.headers.get(name) for name in expected} == expected


@pytest.mark.parametrize("entry", CALLS)
def test_every_tool_of_an_entry_is_tried(entry: str) -> None:
    tools = [each.given["name"] for each in catalogue.ENTRIES[entry].tools]
    assert sorted(each[0] for each in CALLS[entry]) == sorted(tools)


async def test_slack_s_errors_are_failures_although_they_are_answered_with_200(api: Api, url: str) -> None:
    def answer(asked: Asked) -> Any:
        return as_json({"ok": False, "error": "not_in_channel"})

    api.on("/chat.postMessage", answer)
    with pytest.raises(ToolCallRejected, match="not_in_channel"):
        await called(tool("slack", "post_message"), url, {"channel": "C1", "text": "Hi"})


@pytest.mark.parametrize(
    ("entry", "name", "arguments"),
    [
        ("github", "create_issue", {"owner": "octo", "repo": "..", "title": "a"}),
        ("github", "get_issue", {"owner": "octo", "repo": "app", "issue_number": 0}),
        ("notion", "create_page", {"parent": {}, "properties": TITLE}),
        ("notion", "create_page", {"parent": {"page_id": "a", "database_id": "b"}, "properties": TITLE}),
        ("slack", "post_message", {"channel": "C1"}),
        ("microsoft_calendar", "create_event", {"subject": "a", "start": "2026-03-01", "end": WHEN}),
        ("google_calendar", "get_event", {"calendarId": "", "eventId": "e"}),
    ],
)
def test_arguments_that_the_api_would_refuse_are_refused_before_anybody_is_asked(
    entry: str, name: str, arguments: dict[str, Any]
) -> None:
    assert violation(tool(entry, name), arguments)


@pytest.mark.parametrize("name", HTTP)
def test_an_entry_is_added_by_its_name_with_suggestions_and_everything_off(tenant: Cast, name: str) -> None:
    more = {"hosts": ["hooks.example.com"]} if name == "webhook" else {}
    service = add(tenant, catalogue=name, credential={"type": "bearer", "token": TOKEN}, **more)
    assert (service["slug"], service["kind"]) == (name, "http")
    assert not [tool["name"] for tool in service["tools"] if tool["enabled"]]
    for each in service["tools"]:
        suggested = catalogue.ENTRIES[name].suggested(each["name"])
        assert {field: each[field] for field in suggested} == suggested
        # What others than the caller can see afterwards waits for a human; Notion's pages are the tenant's own.
        reads = each["tier"] == "read_only"
        assert each["labels"]["leaves_tenant"] is not reads
        assert each["tier"] in {"read_only", "system" if name == "notion" else "elevated"}
        assert each["idempotent"] is reads
        assert reads or each["http"]["method"] != "GET"


def test_a_webhook_calls_the_hosts_of_its_owner_s_list_only(tenant: Cast) -> None:
    service = add(tenant, catalogue="webhook", slug="hooks", hosts=["hooks.example.com", "https://ci.example.com:8443"])
    assert service["url"] == "https://hooks.example.com"
    [call] = service["tools"]
    assert (call["tool"], call["tier"]) == ("hooks.external_api_call", "elevated")
    assert call["parameters"]["properties"]["host"]["enum"] == ["hooks.example.com", "https://ci.example.com:8443"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"catalogue": "nothing"}, "catalogue"), ({"catalogue": None}, "catalogue"),
        ({"catalogue": ["github"]}, "catalogue"),
        ({"catalogue": "github", "kind": "http"}, "kind"), ({"catalogue": "github", "descriptor": {}}, "descriptor"),
        ({"catalogue": "github", "hosts": ["a.example"]}, "hosts"), ({"catalogue": "webhook"}, "hosts"),
        ({"catalogue": "webhook", "hosts": []}, "hosts"), ({"catalogue": "webhook", "hosts": [1]}, "hosts"),
        ({"catalogue": "webhook", "hosts": "a.example"}, "hosts"),
    ],
)  # fmt: skip
def test_what_makes_no_entry_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidService) as refused:
        catalogue.body(given)
    assert refused.value.field == field


def test_a_suggestion_never_switches_a_tool_on(tenant: Cast) -> None:
    wanted = NewService.read({"slug": "desk", "kind": "http", "url": "https://api.example.com"})
    http = {"method": "GET", "path": "/a"}
    document = {"version": 2, "tools": [{"name": "a", "description": "A tool.", "http": http}]}
    source = Source("http", changes.text_of(document, "descriptor"))
    with transactions.scope(*tenant.olga.scope):
        changes.add(tenant.id, wanted, source, lambda name: {"enabled": True, "tier": "read_only"})
    [row] = rows("SELECT enabled, tier FROM service_tools WHERE tenant_id = %(t)s", t=tenant.id)
    assert row == {"enabled": False, "tier": "read_only"}


async def _added(tenant: Cast, **given: Any) -> None:
    scope = tenant.olga.scope
    body = catalogue.body(given)
    wanted = NewService.read(body)
    source = await sources.of_entry(given["catalogue"], body, wanted, scope)
    await drift._within(scope, changes.add, tenant.id, wanted, source, catalogue.found(given["catalogue"]).suggested)


def _tools(tenant: Cast) -> dict[str, tuple[bool, bool]]:
    """Of each tool whether it is closed until somebody accepts it, and whether it is on."""
    found = rows("SELECT name, pending, enabled FROM service_tools WHERE tenant_id = %(t)s", t=tenant.id)
    return {each["name"]: (each["pending"] is not None, each["enabled"]) for each in found}


@pytest.mark.parametrize("identity", ["bearer", "oauth_user"])
async def test_a_newer_descriptor_of_a_release_is_drift_that_an_owner_accepts(
    tenant: Cast, other_tenant: Cast, monkeypatch: pytest.MonkeyPatch, identity: str
) -> None:
    await _added(tenant, catalogue="webhook", slug="hooks", hosts=["hooks.example.com"])
    # Somebody else's has a descriptor of its own.
    await sync_to_async(add)(other_tenant, catalogue="webhook", slug="hooks", hosts=["hooks.example.com"])
    [row] = rows("SELECT id, source, source_url FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["source_url"] == "catalogue:webhook"
    rows("UPDATE services SET identity = %(i)s WHERE id = %(id)s RETURNING id", i=identity, id=row["id"])
    rows("UPDATE service_tools SET enabled = true WHERE service_id = %(id)s RETURNING id", id=row["id"])
    await drift.look_as_nobody(tenant.id, "hooks")
    assert _tools(tenant) == {"external_api_call": (False, True)}

    old = catalogue.ENTRIES["webhook"]
    given = old.tools[0].given | {"description": "Call a host."}
    newer = replace(old.tools[0], given=given), replace(old.tools[0], given=given | {"name": "more"})
    monkeypatch.setitem(catalogue.ENTRIES, "webhook", replace(old, tools=newer))
    sent: list[Any] = []

    async def send(more: Any) -> None:
        sent.extend(more)

    monkeypatch.setattr("services.reading.drift.messages.send", send)
    for minute in range(drift.ROUND):
        monkeypatch.setattr("services.reading.drift.time.time", lambda minute=minute: 60.0 * minute)
        await drift.check()
    due = [given for _, given in sent if given[0] in (str(tenant.id), str(other_tenant.id))]
    assert due == [[str(tenant.id), "hooks"]]
    await drift.look_as_nobody(tenant.id, "hooks")
    await drift.look_as_nobody(other_tenant.id, "hooks")
    assert _tools(tenant) == {"external_api_call": (True, True), "more": (False, False)}
    assert _tools(other_tenant) == {"external_api_call": (False, False)}
    [now] = rows("SELECT source, source_url FROM services WHERE id = %(id)s", id=row["id"])
    assert now["source_url"] == "catalogue:webhook"
    assert [each["http"]["hosts"] for each in json.loads(now["source"])["tools"]] == [["hooks.example.com"]] * 2


async def test_a_service_with_a_descriptor_of_its_own_follows_the_catalogue_no_more(tenant: Cast) -> None:
    await _added(tenant, catalogue="webhook", slug="hooks", hosts=["hooks.example.com"])
    scope = tenant.olga.scope
    service = await drift._within(scope, changes.found, "hooks")
    own = catalogue.ENTRIES["webhook"].descriptor(["other.example.com"])
    assert (await sources.again(service, {"descriptor": own}, scope)).url == ""
    with pytest.raises(InvalidService):
        await sources.of("http", {"descriptor": "catalogue:webhook"}, service.url, credentials.NONE, scope)


async def test_an_entry_that_is_shipped_no_more_leaves_its_services_as_they_are(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _added(tenant, catalogue="github", credential={"type": "bearer", "token": TOKEN})
    before = _tools(tenant)
    monkeypatch.delitem(catalogue.ENTRIES, "github")
    await drift.look_as_nobody(tenant.id, "github")
    assert _tools(tenant) == before


@pytest.mark.parametrize("name", ["google_calendar", "microsoft_calendar"])
async def test_people_connect_their_accounts_where_the_catalogue_says(tenant: Cast, name: str) -> None:
    credential = {"type": "oauth_user", "client_id": "toolgate", "client_secret": "x-secret"}
    await _added(tenant, catalogue=name, credential=credential)
    begun = await flow.begin(tenant.alice.scope, name, None)
    asked = URL(begun["authorize_url"])
    known = catalogue.ENTRIES[name].oauth
    assert str(asked.with_query(None)) == known["authorization_endpoint"].partition("?")[0]
    assert (asked.query["scope"].split(), asked.query["client_id"]) == (known["scopes"], "toolgate")
    assert (asked.query["code_challenge_method"], "resource" in asked.query) == ("S256", False)
    # What the endpoint asks for beside it, such as a refresh token.
    wanted = URL(known["authorization_endpoint"]).query
    assert {each: asked.query[each] for each in wanted} == dict(wanted)
    [row] = rows("SELECT source FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    assert "x-secret" not in row["source"]


def test_a_server_that_an_owner_names_is_not_mixed_with_the_catalogues() -> None:
    def filled(**given: Any) -> Any:
        body = catalogue.body({"catalogue": "google_calendar", "credential": given})
        return {name for name in body["credential"] if name not in given}

    assert filled(type="oauth_user", client_id="a", issuer="https://login.example.com") == {"scopes"}
    assert filled(type="oauth_user", client_id="a", scopes=["b"]) == {
        "issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint"
    }  # fmt: skip
    assert filled(type="bearer", token="a") == set()
    assert catalogue.body({"catalogue": "github", "credential": {"type": "oauth_user"}})["credential"] == {
        "type": "oauth_user"
    }
