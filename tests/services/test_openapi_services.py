"""OpenAPI documents as services: chosen operations become tools, and bombs become refusals."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from psycopg.types.json import Jsonb

from audit.canonical import sha256_hex
from services.errors import InvalidService
from services.offers import openapi
from services.offers.definition import SEGMENT
from services.reading import drift
from tests.database import rows
from tests.people import Cast
from tests.schedules.rows import change
from tests.services.api import TOKEN, Api, Owner, Reply, as_json, call
from tests.services.calling import allowed
from tests.services.documents import CODE_HOST, document
from tests.stack import Stack

CHOSEN = ["issues/list-for-repo", "issues/create", "PUT /repos/{owner}/{repo}/labels"]


def refused(chosen: list[str], given: Any = CODE_HOST) -> str:
    """The words of the refusal."""
    with pytest.raises(InvalidService) as caught:
        openapi.read("host", given, chosen)
    return caught.value.detail


def body(schema: Any) -> dict[str, Any]:
    """An operation with that body."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def test_chosen_operations_become_tools_with_one_schema_each() -> None:
    offer = openapi.read("host", CODE_HOST, CHOSEN)
    assert offer.description == "Code host"
    listing, create, labels = offer.tools
    segment = {"type": "string", "minLength": 1, "pattern": SEGMENT}
    assert [tool.name for tool in offer.tools] == [
        "issues_list-for-repo", "issues_create", "PUT_repos_owner_repo_labels"
    ]  # fmt: skip
    assert listing.parameters == {
        "type": "object",
        "properties": {
            "owner": segment,
            "repo": segment,
            "state": {"type": "string", "enum": ["open", "closed", "all"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
            "X-Api-Version": {"type": "string"},
        },
        "required": ["owner", "repo"],
        "additionalProperties": False,
    }
    assert create.parameters["required"] == ["owner", "repo", "title"]
    assert create.parameters["properties"]["body"] == {"type": ["string", "null"]}
    assert create.parameters["properties"]["milestone"] == {"type": "integer", "exclusiveMinimum": 0}
    assert create.given["description"] == "Create an issue"
    assert labels.parameters["properties"]["body"] == {"type": "array", "items": {"type": "string"}}
    assert labels.parameters["required"] == ["owner", "repo", "body"]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([], "operations must name which become tools: issues/list-for-repo, issues/create"),
        (["nothing"], "There is no operation nothing. There are issues/list-for-repo"),
        (["GET /nowhere"], "There is no operation GET /nowhere."),
        (["tree", "tree"], "each of them once"),
        (["twice"], "is the operationId of GET /twice/a and GET /twice/b"),
        (["upload"], "needs a body that is neither JSON nor a plain form"),
        (["tree"], "has a reference that comes back to itself: #/components/schemas/node"),
        (["remote"], "has a $ref that is not local: https://evil.example/s.json"),
    ],
)
def test_operations_that_cannot_be_tools_are_refused_with_words(chosen: list[str], words: str) -> None:
    assert words in refused(chosen)


@pytest.mark.parametrize(
    "given",
    [
        {}, [], {"swagger": "2.0"}, {"openapi": "2.0.0"}, {"openapi": "4.0.0"}, {"openapi": 3}, {"openapi": "3.1.0"},
        {"openapi": "3.1.0", "paths": []}, {"openapi": "3.1.0", "paths": {"/a": 1}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": []}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a", "parameters": 7}}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a", "parameters": [7]}}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a", "parameters": [{"$ref": "#/paths"}]}}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a", "parameters": [{"in": "query"}]}}}},
        {"openapi": "3.1.0", "paths": {"/a/{id}": {"get": {"operationId": "a"}}}},
        {"openapi": "3.1.0", "paths": {"//../x": {"get": {"operationId": "a"}}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a" * 80}}}},
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a", "summary": "\u202eevil"}}}},
    ],
)  # fmt: skip
def test_a_document_that_is_none_is_refused(given: Any) -> None:
    refused(["a" * 80 if "a" * 80 in str(given) else "a"], given)


def test_bombs_are_refused() -> None:
    wide = {f"s{level}": {"type": "object", "properties": {
        name: {"$ref": f"#/components/schemas/s{level + 1}"} for name in "abcdefgh"
    }} for level in range(10)}  # fmt: skip
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        deep = {"type": "array", "items": deep}
    given = document(
        wide=body({"$ref": "#/components/schemas/s0"}),
        deep=body(deep),
        large=body({"type": "object", "description": "x" * 70_000}),
        pattern=body({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
    )
    given["components"]["schemas"] |= wide | {"s10": {"type": "string"}}
    assert "becomes too large" in refused(["wide"], given)
    assert "nested more than 32 levels" in refused(["deep"], given)
    assert "becomes too large" in refused(["large"], given)
    assert "pattern" in refused(["pattern"], given)


def test_a_property_may_be_called_like_a_keyword() -> None:
    properties = {name: {"type": "string"} for name in ("example", "$ref", "xml", "nullable", "properties", "x-a")}
    nested = {"type": "object", "properties": {"odd": {"type": "object", "properties": properties}}}
    [tool] = openapi.read("host", document(odd=body(nested)), ["odd"]).tools
    assert tool.parameters["properties"]["odd"]["properties"] == properties


def test_calls_put_every_argument_into_its_place(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    owner = Owner(stack, tenant.olga)
    api.on("/openapi.json", as_json(CODE_HOST))
    api.on("/repos/", as_json({"ok": True}))
    credential = {"type": "bearer", "token": TOKEN}
    owner.add(
        *[url],
        slug="host",
        kind="openapi",
        descriptor=None,
        openapi=f"{url}/openapi.json",
        operations=CHOSEN,
        credential=credential,
    )
    assert api.asked[0].headers.get("authorization") is None
    place = {"owner": "a/b", "repo": "c"}
    more = {"state": "open", "labels": ["x", "y"], "per_page": 5, "X-Api-Version": "2022-11-28"}
    call(stack, tenant.alice, "host.issues_list-for-repo", {**place, **more})
    call(stack, tenant.alice, "host.issues_create", {**place, "title": "Broken", "body": None})
    call(stack, tenant.alice, "host.PUT_repos_owner_repo_labels", {**place, "body": ["x"]})
    listing, create, labels = api.of("/repos/")
    assert (listing.method, listing.path) == ("GET", "/repos/a%2Fb/c/issues")
    assert sorted(listing.query) == [("labels", "x"), ("labels", "y"), ("per_page", "5"), ("state", "open")]
    assert (listing.headers["x-api-version"], listing.headers["authorization"]) == ("2022-11-28", f"Bearer {TOKEN}")
    assert (create.method, create.json) == ("POST", {"title": "Broken", "body": None})
    assert (labels.method, labels.json) == ("PUT", ["x"])


def test_a_refresh_of_a_document_finds_what_changed(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    owner = Owner(stack, tenant.olga)
    api.on("/openapi.json", as_json(CODE_HOST))
    owner.add(
        url, slug="host", kind="openapi", descriptor=None, openapi=f"{url}/openapi.json", operations=["issues/create"]
    )
    changed = json.loads(json.dumps(CODE_HOST))
    del changed["paths"]["/repos/{owner}/{repo}/issues"]["post"]["requestBody"]["required"]
    api.on("/openapi.json", as_json(changed))
    assert owner.ask("POST", "host/refresh/").status_code == 200
    [tool] = owner.get("host")["tools"]
    assert [change["field"] for change in tool["drift"]["changes"]] == ["inputSchema"]
    assert call(stack, tenant.alice, "host.issues_create", {})["error"]["code"] == "not_allowed"
    more = owner.ask("PATCH", "host/", {"operations": ["issues/create", "issues/list-for-repo"]}).json()
    assert [tool["enabled"] for tool in more["tools"]] == [False, False]


async def test_a_release_that_reads_a_document_differently_closes_nothing_by_itself_and_shows_it_once(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    listed = {"name": "ids", "in": "query", "explode": False, "schema": {"type": "array", "items": {"type": "string"}}}
    given = {"openapi": "3.1.0", "paths": {"/things": {"get": {"operationId": "it", "parameters": [listed]}}}}
    api.on("/openapi.json", as_json(given))
    api.on("/things", as_json([]))
    owner = Owner(stack, tenant.olga)
    about = {"kind": "openapi", "descriptor": None, "openapi": f"{url}/openapi.json", "operations": ["it"]}
    await asyncio.to_thread(owner.add, url, slug="host", **about)

    def asked() -> list[tuple[str, str]]:
        made = call(stack, tenant.alice, "host.it", {"ids": ["a", "b"]})
        return api.of("/things")[-1].query if made["status"] == "success" else [(made["error"]["code"], "")]

    now = await asyncio.to_thread(asked)
    # As a release made it that knew no styles, and an owner accepted it.
    [row] = rows("SELECT definition, http FROM service_tools WHERE tenant_id = %(t)s", t=tenant.id)
    plain = {"ids": ["query", "ids"]}
    before = row["definition"] | {"http": row["definition"]["http"] | {"places": plain}}
    change(
        "UPDATE service_tools SET definition = %s, http = %s, hash = %s, accepted_hash = %s WHERE tenant_id = %s",
        *(Jsonb(before), Jsonb(row["http"] | {"places": plain}), sha256_hex(before), sha256_hex(before), tenant.id),
    )
    as_before = [("ids", "a"), ("ids", "b")]
    assert (now, await asyncio.to_thread(asked)) == ([("ids", "a,b")], as_before)
    # The document is the same, so a look by itself changes nothing.
    with allowed():
        await drift.look_as_nobody(tenant.id, "host")
    assert api.of("/openapi.json") and await asyncio.to_thread(asked) == as_before
    assert owner.ask("POST", "host/refresh/").status_code == 200
    shown = owner.tool("it", "host")["drift"]
    assert [(each["field"], each["after"]["places"]) for each in shown["changes"]] == [
        ("http", {"ids": ["query", "ids", "comma"]})
    ]
    assert await asyncio.to_thread(asked) == [("not_allowed", "")]
    assert owner.ask("POST", "host/tools/it/accept/", {"hash": shown["hash"]}).status_code == 200
    assert owner.ask("POST", "host/refresh/").status_code == 200
    assert (owner.tool("it", "host")["drift"], await asyncio.to_thread(asked)) == (None, now)


@pytest.mark.parametrize("reply", [Reply(200, b"no document"), Reply(404), Reply(200, b"{" * 9)])
def test_an_address_without_a_document_is_refused(stack: Stack, tenant: Cast, api: Api, url: str, reply: Reply) -> None:
    api.on("/", reply)
    given = {"slug": "host", "kind": "openapi", "url": url, "openapi": f"{url}/openapi", "operations": ["a"]}
    answer = Owner(stack, tenant.olga).ask("POST", "", given)
    assert (answer.status_code, answer.json()["field"]) == (502 if reply.status != 200 else 400, "openapi")
    assert Owner(stack, tenant.olga).ask("GET", "").json()["results"] == []


def test_a_document_at_a_private_address_is_not_fetched(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    given = {"slug": "host", "kind": "openapi", "url": url, "openapi": f"{stack.url}/api/schema/", "operations": ["a"]}
    answer = Owner(stack, tenant.olga).ask("POST", "", given)
    assert (answer.status_code, answer.json()["field"]) == (400, "openapi")


def test_toolgate_s_own_document_makes_tools(stack: Stack, tenant: Cast, url: str) -> None:
    accept = {"Accept": "application/vnd.oai.openapi+json"}
    own = httpx.get(f"{stack.url}/api/schema/", headers=accept).json()
    chosen = ["list_tool_calls", "get_run", "create_service", "approve_request"]
    added = Owner(stack, tenant.olga).add(
        url, on=False, slug="toolgate", kind="openapi", descriptor=None, openapi=own, operations=chosen
    )
    assert [tool["name"] for tool in added["tools"]] == sorted(chosen)
