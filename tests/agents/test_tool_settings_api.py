"""`/api/v1/tool-settings/` and `/api/v1/grants/`: what owners say about tools, and what comes of it for members."""

import json
import uuid
from typing import Any

import pytest
from django.test import override_settings

from services import changes as service_changes
from services.changes import NewService, Source
from tenants.scope import transactions
from tests.agents.asking import ask, recorded, refusal
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person

SETTINGS, GRANTS = "/api/v1/tool-settings/", "/api/v1/grants/"
NOTE = f"{SETTINGS}save_note/"
HOUR_AGO = 3600


@pytest.fixture
def shop(tenant: Cast) -> str:
    """The path of the setting of a service's tool, `shop.buy`, which is off."""
    tool = {"name": "buy", "description": "Buy", "inputSchema": {"type": "object", "properties": {}}}
    offered = {"version": 2, "name": "shop", "description": "A shop"}
    text = json.dumps(offered | {"tools": [tool | {"http": {"method": "POST", "path": "/buy"}}]})
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": {"type": "none"}}
    with transactions.scope(*tenant.olga.scope):
        service_changes.add(tenant.id, NewService.read(body), Source("http", text))
    return f"{SETTINGS}shop.buy/"


def _stored(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM tool_settings WHERE tenant_id = %(t)s ORDER BY tool_name", t=tenant.id)


def _grants(tenant: Cast) -> list[tuple[str, str, uuid.UUID | None, str]]:
    found = rows("SELECT * FROM grants WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)
    return [(each["tool_name"], each["effect"], each["user_id"], each["role"]) for each in found]


def _tools(person: Person) -> dict[str, tuple[str, str]]:
    listed = ask(person, "GET", "/api/v1/tools/").json()["tools"]
    return {each["name"]: (each["tier"], each["rate_limit"]) for each in listed}


def _access(who: Person, tool: str, query: str = "") -> Any:
    return ask(who, "GET", f"/api/v1/tools/{tool}/access{query}")


def _refused_by(body: dict[str, Any]) -> str:
    return next((gate["gate"] for gate in body["gates"] if not gate["ok"]), "")


def _in_a_session(person: Person, method: str, path: str, body: Any, seconds_ago: int = HOUR_AGO) -> Any:
    return signed_in(person, seconds_ago=seconds_ago).generic(method, path, json.dumps(body), "application/json")


def test_every_tool_is_listed_with_what_it_declares_and_what_is_said_of_it(tenant: Cast, shop: str) -> None:
    listed = ask(tenant.olga, "GET", SETTINGS).json()["results"]
    assert [each["tool"] for each in listed] == [
        "add_task", "cancel_schedule", "canvas", "complete_task", "create_reminder",
        "delete_file", "edit_file", "file_info",
        "label_session", "list_files", "list_schedules", "list_sessions", "list_tasks", "memory_search",
        "memory_store", "message", "read_file", "read_session", "run_schedule", "save_note", "schedule",
        "search_files", "search_notes", "send_email", "send_to_session", "subagent", "update_task", "web_fetch",
        "web_search", "write_file",
        "shop.buy",
    ]  # fmt: skip
    note, buy = (next(each for each in listed if each["tool"] == name) for name in ("save_note", "shop.buy"))
    tokens = note.pop("tokens")
    assert 20 < tokens < 1000
    note.pop("description")
    assert note == {
        "tool": "save_note", "service": None, "enabled": True, "tier": "workspace", "declared_tier": "workspace",
        "rate": "30/m", "declared_rate": "30/m", "approvals_needed": 1, "approval_expires": 86_400,
    }  # fmt: skip
    assert (buy["service"], buy["enabled"], buy["tier"]) == ("shop", False, "system")
    only = ask(tenant.olga, "GET", f"{SETTINGS}?service=shop").json()["results"]
    assert [each["tool"] for each in only] == ["shop.buy"]
    own = ask(tenant.olga, "GET", f"{SETTINGS}?service=").json()["results"]
    assert [each["tool"] for each in own] == [each["tool"] for each in listed[:-1]]
    assert all(each["service"] is None for each in own)


def test_what_is_said_of_a_tool_holds_at_once_and_is_on_record(tenant: Cast) -> None:
    said = {"enabled": True, "tier": "elevated", "rate": "3/m", "approvals_needed": 2, "approval_expires": 900}
    answer = ask(tenant.olga, "PUT", NOTE, said)
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in said} == said
    assert _tools(tenant.alice)["save_note"] == ("elevated", "3/m")
    [row] = _stored(tenant)
    assert (row["tier"], row["approvals_needed"], row["approval_seconds"]) == ("elevated", 2, 900)
    assert [(target, name, action) for target, name, action, _ in recorded(tenant)] == [
        ("tool_setting", "save_note", "created")
    ]
    ask(tenant.olga, "PATCH", NOTE, {"enabled": False})
    assert "save_note" not in _tools(tenant.alice)
    body = _access(tenant.alice, "save_note").json()
    assert (body["allowed"], _refused_by(body)) == (False, "allowlist")
    assert "/settings/tools/" in body["gates"][0]["user"]
    assert recorded(tenant)[1] == ("tool_setting", "save_note", "changed", {"enabled": [True, False]})


def test_replacing_says_all_of_it_changing_only_what_is_named_and_deleting_nothing(tenant: Cast) -> None:
    ask(tenant.olga, "PUT", NOTE, {"enabled": True, "rate": "3/m", "approvals_needed": 2})
    assert ask(tenant.olga, "PATCH", NOTE, {"tier": "system"}).json()["rate"] == "3/m"
    replaced = ask(tenant.olga, "PUT", NOTE, {"enabled": True, "approvals_needed": 3}).json()
    assert (replaced["rate"], replaced["tier"], replaced["approvals_needed"]) == ("30/m", "workspace", 3)
    assert ask(tenant.olga, "DELETE", NOTE).status_code == 204
    assert _stored(tenant) == []
    assert recorded(tenant)[-1][2] == "deleted"


def test_what_is_said_already_is_not_on_record_again(tenant: Cast) -> None:
    for _ in range(2):
        ask(tenant.olga, "PUT", NOTE, {"enabled": True, "tier": "workspace", "rate": None})
    assert (_stored(tenant), recorded(tenant)) == ([], [])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"enabled": 1}, "enabled"),
        ({"enabled": None}, "enabled"),
        ({"tier": "root"}, "tier"),
        ({"tier": "read_only"}, "tier"),
        ({"tier": ["system"]}, "tier"),
        ({"rate": "often"}, "rate"),
        ({"rate": "-1/m"}, "rate"),
        ({"rate": 10}, "rate"),
        ({"rate": "1" * 17}, "rate"),
        ({"approvals_needed": 0}, "approvals_needed"),
        ({"approvals_needed": 21}, "approvals_needed"),
        ({"approvals_needed": True}, "approvals_needed"),
        ({"approval_expires": 59}, "approval_expires"),
        ({"approval_expires": 10**30}, "approval_expires"),
        ({"approval_expires": 90.5}, "approval_expires"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_said_of_a_tool_is_refused_and_nothing_is_stored(
    tenant: Cast, given: dict[str, Any], field: str
) -> None:
    assert refusal(ask(tenant.olga, "PATCH", NOTE, given)) == (400, "invalid_tool_setting", field)
    assert refusal(ask(tenant.olga, "PUT", NOTE, {"enabled": True} | given)) == (400, "invalid_tool_setting", field)
    assert (_stored(tenant), recorded(tenant)) == ([], [])


@pytest.mark.parametrize("name", ["no_such_tool", "shop.buy", "tools_search", "a%00b"])
def test_nothing_is_said_of_a_tool_that_there_is_not(tenant: Cast, name: str) -> None:
    for method, body in (("GET", None), ("PUT", {"enabled": True}), ("PATCH", {}), ("DELETE", None)):
        assert refusal(ask(tenant.olga, method, f"{SETTINGS}{name}/", body))[:2] == (404, "not_found")
    assert _stored(tenant) == []


@override_settings(TOOLGATE_TOOL_TIERS={"save_note": "elevated"})
def test_nobody_undercuts_the_tier_that_the_operator_gives_a_tool(tenant: Cast) -> None:
    answer = ask(tenant.olga, "PATCH", NOTE, {"tier": "system"})
    assert refusal(answer) == (400, "invalid_tool_setting", "tier")
    assert "TOOLGATE_TOOL_TIERS" in answer.json()["detail"]
    assert (ask(tenant.olga, "GET", NOTE).json()["tier"], _stored(tenant)) == ("elevated", [])


@override_settings(TOOLGATE_TOOL_TIERS={"shop.buy": "system"})
def test_the_tier_of_a_services_tool_is_not_lowered_below_the_operators(tenant: Cast, shop: str) -> None:
    assert refusal(ask(tenant.olga, "PATCH", shop, {"tier": "read_only"})) == (400, "invalid_tool_setting", "tier")
    assert ask(tenant.olga, "GET", shop).json()["tier"] == "system"


def test_a_services_tool_is_switched_on_and_given_a_tier_where_its_service_says_it(tenant: Cast, shop: str) -> None:
    assert "shop.buy" not in _tools(tenant.alice)
    answer = ask(tenant.olga, "PUT", shop, {"enabled": True, "tier": "workspace", "rate": "2/m"})
    assert (answer.json()["enabled"], answer.json()["tier"]) == (True, "workspace")
    assert _tools(tenant.alice)["shop.buy"] == ("workspace", "2/m")
    [tool] = rows("SELECT enabled, tier FROM service_tools WHERE tenant_id = %(t)s", t=tenant.id)
    assert tool == {"enabled": True, "tier": "workspace"}
    assert [each[:3] for each in recorded(tenant)][-2:] == [
        ("service_tool", "shop.buy", "changed"), ("tool_setting", "shop.buy", "created"),
    ]  # fmt: skip
    ask(tenant.olga, "PATCH", shop, {"enabled": False})
    assert "shop.buy" not in _tools(tenant.alice)


@pytest.mark.parametrize(
    ("before", "after"),
    [({"tier": "elevated"}, {"tier": None}), ({"approvals_needed": 2}, {"approvals_needed": 1})],
    ids=["a lower tier", "fewer approvals"],
)
def test_a_session_gives_the_password_again_to_have_less_asked_of_calls(
    tenant: Cast, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert _in_a_session(tenant.olga, "PATCH", NOTE, before).status_code == 200
    stored = _stored(tenant)
    assert refusal(_in_a_session(tenant.olga, "PATCH", NOTE, after))[:2] == (403, "reauthentication_required")
    assert refusal(_in_a_session(tenant.olga, "DELETE", NOTE, None))[:2] == (403, "reauthentication_required")
    assert (_stored(tenant), len(recorded(tenant))) == (stored, 1)
    assert _in_a_session(tenant.olga, "PATCH", NOTE, after, seconds_ago=0).status_code == 200
    assert _stored(tenant) == []


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_only_owners_say_anything_about_tools(tenant: Cast, who: str) -> None:
    person = getattr(tenant, who)
    ask(tenant.olga, "POST", GRANTS, {"tool": "save_note", "effect": "deny", "role": "auditor"})
    given, on_record = _grants(tenant), len(recorded(tenant))
    for method, path, body in (
        ("GET", SETTINGS, None), ("GET", NOTE, None), ("PUT", NOTE, {"enabled": False}), ("PATCH", NOTE, {}),
        ("DELETE", NOTE, None), ("GET", GRANTS, None), ("POST", GRANTS, {"tool": "*", "effect": "allow"}),
        ("DELETE", f"{GRANTS}{uuid.uuid4()}/", None),
    ):  # fmt: skip
        assert refusal(ask(person, method, path, body))[:2] == (403, "forbidden"), (method, path)
    assert (_stored(tenant), _grants(tenant), len(recorded(tenant))) == ([], given, on_record)


def test_a_grant_is_given_and_taken_and_both_hold_at_once(tenant: Cast) -> None:
    made = ask(tenant.olga, "POST", GRANTS, {"tool": "save_note", "effect": "deny", "user": tenant.alice.username})
    grant = made.json()
    assert made.status_code == 201
    assert grant["user"] == {"id": str(tenant.alice.principal.user_id), "username": tenant.alice.username}
    assert (grant["tool"], grant["effect"], grant["role"]) == ("save_note", "deny", None)
    assert "save_note" not in _tools(tenant.alice) and "save_note" in _tools(tenant.bob)
    again = ask(tenant.olga, "POST", GRANTS, {"tool": "save_note", "effect": "deny", "user": grant["user"]["id"]})
    assert again.json()["id"] == grant["id"]
    path = f"{GRANTS}{grant['id']}/"
    assert ask(tenant.olga, "GET", path).json() == grant
    assert ask(tenant.olga, "GET", f"{GRANTS}?tool=save_note").json()["results"] == [grant]
    assert ask(tenant.olga, "GET", f"{GRANTS}?user={tenant.bob.username}").json()["results"] == []
    assert ask(tenant.olga, "DELETE", path).status_code == 204
    assert "save_note" in _tools(tenant.alice)
    assert [each[:3] for each in recorded(tenant)] == [
        ("grant", "save_note", "created"),
        ("grant", "save_note", "deleted"),
    ]
    assert refusal(ask(tenant.olga, "DELETE", path))[:2] == (404, "not_found")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"effect": "allow"}, "tool"),
        ({"tool": "no_such_tool", "effect": "allow"}, "tool"),
        ({"tool": "shop.*", "effect": "allow"}, "tool"),
        ({"tool": ["save_note"], "effect": "allow"}, "tool"),
        ({"tool": "save_note"}, "effect"),
        ({"tool": "save_note", "effect": "maybe"}, "effect"),
        ({"tool": "save_note", "effect": "deny", "role": "king"}, "role"),
        ({"tool": "save_note", "effect": "deny", "user": "nobody"}, "user"),
        ({"tool": "save_note", "effect": "deny", "user": 7}, "user"),
        ({"tool": "save_note", "effect": "deny", "user": "a\x00b"}, "user"),
        ({"tool": "save_note", "effect": "deny", "until": "tomorrow"}, "until"),
    ],
)
def test_what_makes_no_grant_is_refused(tenant: Cast, given: dict[str, Any], field: str) -> None:
    assert refusal(ask(tenant.olga, "POST", GRANTS, given)) == (400, "invalid_grant", field)
    assert (_grants(tenant), recorded(tenant)) == ([], [])


def test_a_person_of_another_tenant_gets_no_grant_and_a_grant_of_another_tenant_is_not_found(
    tenant: Cast, other_tenant: Cast
) -> None:
    wanted = {"tool": "save_note", "effect": "allow", "user": other_tenant.alice.username}
    assert refusal(ask(tenant.olga, "POST", GRANTS, wanted)) == (400, "invalid_grant", "user")
    theirs = ask(other_tenant.olga, "POST", GRANTS, {"tool": "*", "effect": "deny"}).json()["id"]
    for method in ("GET", "DELETE"):
        assert refusal(ask(tenant.olga, method, f"{GRANTS}{theirs}/"))[:2] == (404, "not_found")
    assert (_grants(tenant), len(_grants(other_tenant))) == ([], 1)


def test_a_session_gives_the_password_again_to_allow_a_tool_or_to_take_a_deny_away(tenant: Cast) -> None:
    allow, deny = ({"tool": "save_note", "effect": effect} for effect in ("allow", "deny"))
    assert refusal(_in_a_session(tenant.olga, "POST", GRANTS, allow))[:2] == (403, "reauthentication_required")
    made = _in_a_session(tenant.olga, "POST", GRANTS, deny)
    assert made.status_code == 201
    path = f"{GRANTS}{made.json()['id']}/"
    assert refusal(_in_a_session(tenant.olga, "DELETE", path, None))[:2] == (403, "reauthentication_required")
    assert _grants(tenant) == [("save_note", "deny", None, "")]
    assert _in_a_session(tenant.olga, "DELETE", path, None, seconds_ago=0).status_code == 204


def test_an_owner_asks_for_anybody_of_the_tenant_why_they_may_not(tenant: Cast, other_tenant: Cast) -> None:
    ask(tenant.olga, "POST", GRANTS, {"tool": "save_note", "effect": "deny", "user": tenant.alice.username})
    for user in (tenant.alice.username, str(tenant.alice.principal.user_id)):
        body = _access(tenant.olga, "save_note", f"?user={user}").json()
        assert (body["allowed"], _refused_by(body)) == (False, "permission")
    [refused] = [gate for gate in body["gates"] if not gate["ok"]]
    # Who is no owner is told their names.
    refused["user"] += f" The owner of your tenant is {tenant.olga.username}."
    assert body == _access(tenant.alice, "save_note").json()
    assert _access(tenant.olga, "save_note").json()["allowed"] is True
    assert _access(tenant.olga, "save_note", f"?user={tenant.bob.username}").json()["allowed"] is True
    for nobody in ("nobody", other_tenant.alice.username, str(other_tenant.alice.principal.user_id)):
        assert refusal(_access(tenant.olga, "save_note", f"?user={nobody}"))[:2] == (404, "not_found")
    assert refusal(_access(tenant.olga, "no_such_tool", f"?user={tenant.bob.username}"))[:2] == (404, "not_found")


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_whoever_is_no_owner_asks_for_themselves_alone(tenant: Cast, who: str) -> None:
    person: Person = getattr(tenant, who)
    answer = _access(person, "save_note", f"?user={tenant.bob.username}")
    assert refusal(answer)[:2] == (403, "forbidden")
    assert "owner" in answer.json()["detail"]
    assert _access(person, "save_note", f"?user={person.username}").status_code == 200
