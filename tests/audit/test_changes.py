"""Whoever changes a setting leaves a row and a ledger entry, in the commit of the change, and no secret in them."""

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections, transaction
from django.db.utils import ProgrammingError
from django.test import Client

from approvals.rules import changes as rule_changes
from approvals.rules.changes import NewRule
from audit.calls import ledger
from gateway.models import Agent
from services import changes as service_changes
from services.changes import NewService, Source
from tenants.models import Membership
from tenants.people import changes
from tenants.people.changes import NONE, REPLACED, SET, Kind, Said, acting, between, record
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.approvals.admin import operator
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import Cast, Person

PATH = "/api/v1/changes/"
TOKEN = "ghp-live-9f31c2d7e8b04a5c"


def _changes(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def _entries(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM ledger_entries WHERE tenant_id = %(t)s ORDER BY seq", t=tenant.id)


def _said(tenant: Cast, secret: str = "", **values: Any) -> Said:
    return Said(tenant.id, "thing", None, "a thing", values, {"secret": secret})


def _record(person: Person, *pairs: tuple[Said | None, Said | None]) -> None:
    with transactions.scope(*person.scope), acting(person.scope.user_id, "api"):
        for pair in pairs:
            record(*pair)


def _descriptor(*names: str, description: str = "What it does") -> str:
    tool = {"description": description, "inputSchema": {"type": "object", "properties": {}}}
    tools = [tool | {"name": name, "http": {"method": "GET", "path": f"/{name}"}} for name in names]
    return json.dumps({"version": 2, "name": "shop", "description": "A shop", "tools": tools})


def _client(person: Person) -> Client:
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client


def _get(person: Person, path: str = PATH, **query: Any) -> Any:
    return Client(headers={"Authorization": f"Bearer {person.key}"}).get(path, query)


def test_a_change_says_who_changed_what_from_what_to_what_and_an_entry_vouches_for_it(tenant: Cast) -> None:
    _record(tenant.olga, (_said(tenant, tier="system", rate=1), _said(tenant, tier="elevated", rate=1)))
    [row], [entry] = _changes(tenant), _entries(tenant)
    assert (row["actor_id"], row["via"], row["target"], row["name"], row["action"], row["changes"]) == (
        tenant.olga.scope.user_id, "api", "thing", "a thing", "changed", {"tier": ["system", "elevated"]},
    )  # fmt: skip
    assert (entry["kind"], entry["version"], entry["call_id"], entry["record_id"]) == ("changed", 7, None, row["id"])
    assert ledger.commitment(row["row_key"], ledger.changed(row)) == entry["commitment"]


def test_what_is_as_it_was_is_not_recorded(tenant: Cast) -> None:
    _record(tenant.olga, (_said(tenant, "same", tier="system"), _said(tenant, "same", tier="system")), (None, None))
    assert _changes(tenant) == _entries(tenant) == []


@pytest.mark.parametrize(
    ("was", "is_now", "shown"), [("", "a", [NONE, SET]), ("a", "b", [SET, REPLACED]), ("a", "", [SET, NONE])]
)
def test_of_a_secret_it_is_only_said_that_it_was_set(tenant: Cast, was: str, is_now: str, shown: list[str]) -> None:
    change = between(_said(tenant, was), _said(tenant, is_now))
    assert change is not None and change.values == {"secret": shown}


def test_a_long_value_is_its_hash_and_one_without_a_canonical_form_is_not_said(tenant: Cast) -> None:
    _record(tenant.olga, (None, _said(tenant, instructions="x" * 5000, weird=10**30)))
    [row] = _changes(tenant)
    assert row["changes"]["weird"] == [None, {"unsaid": "int"}]
    assert set(row["changes"]["instructions"][1]) == {"sha256", "bytes"}


def test_the_record_is_undone_with_its_change_and_there_is_none_without_a_transaction(tenant: Cast) -> None:
    with transactions.scope(*tenant.olga.scope):
        record(None, _said(tenant, tier="system"))
        transaction.set_rollback(True)
    with pytest.raises(RuntimeError, match="outside a transaction"):
        record(None, _said(tenant, tier="system"))
    assert _changes(tenant) == _entries(tenant) == []


def test_a_change_in_another_tenants_name_is_refused(tenant: Cast, other_tenant: Cast) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"), transactions.scope(*tenant.olga.scope):
        record(None, _said(other_tenant, tier="system"))
    assert _changes(tenant) == _changes(other_tenant) == []


@pytest.mark.parametrize("login", ["default", "operator", "system"])
def test_nobody_changes_or_deletes_a_record(tenant: Cast, login: str) -> None:
    _record(tenant.olga, (None, _said(tenant, tier="system")))
    for change in ("UPDATE setting_changes SET via = ''", "DELETE FROM setting_changes"):
        with connections[login].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
            cursor.execute(change)
    assert len(_changes(tenant)) == 1


def test_each_change_of_a_service_is_on_record_and_its_credential_in_none(tenant: Cast) -> None:
    credential = {"type": "bearer", "token": TOKEN}
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": credential}
    olga = tenant.olga
    document = "https://shop.example/tools.json?token=abc123"
    source = Source("http", _descriptor("buy", "sell"), document)
    steps: list[Callable[[], object]] = [
        lambda: service_changes.add(tenant.id, NewService.read(body), source),
        lambda: service_changes.change_tool("shop", "buy", {"enabled": True}),
        # Nothing is different.
        lambda: service_changes.change_tool("shop", "buy", {"enabled": True}),
        lambda: service_changes.change("shop", {"credential": {"type": "bearer", "token": f"{TOKEN}2"}}),
        lambda: service_changes.refresh("shop", replace(source, text=_descriptor("buy", description="More"))),
        lambda: service_changes.accept("shop", "buy", {"hash": service_changes.found_tool("shop", "buy").hash}),
        lambda: service_changes.remove("shop"),
    ]
    for step in steps:
        with transactions.scope(*olga.scope), acting(olga.scope.user_id, "api"):
            step()
    made = _changes(tenant)
    assert [(each["target"], each["name"], each["action"]) for each in made] == [
        ("service", "shop", "created"),
        ("service_tool", "shop.buy", "changed"),
        ("service", "shop", "changed"),
        ("service_tool", "shop.buy", "changed"),
        # The tool that went with the refresh was never enabled.
        ("service_tool", "shop.sell", "deleted"),
        ("service_tool", "shop.buy", "changed"),
        ("service", "shop", "deleted"),
    ]
    assert made[0]["changes"]["url"] == [None, "https://shop.example"]
    assert made[0]["changes"]["source_url"] == [None, "https://shop.example/tools.json"]
    assert made[1]["changes"] == {"enabled": [False, True]}
    assert made[2]["changes"] == {"secret": [SET, REPLACED]}
    assert list(made[3]["changes"]) == ["hash"]
    assert list(made[5]["changes"]) == ["accepted_hash"]
    assert len(made) == len(_entries(tenant)) == 7
    assert TOKEN not in str(made) and "abc123" not in str(made)


def test_a_rule_its_switch_and_its_new_owner_are_on_record(tenant: Cast) -> None:
    wanted = NewRule("Notes", "approve", "send_email", expires_at=datetime.now(UTC) + timedelta(days=3))
    with transactions.scope(*tenant.olga.scope), acting(tenant.olga.scope.user_id, "page"):
        rule, _ = rule_changes.add(tenant.id, tenant.olga.scope.user_id, wanted)
        rule_changes.change(tenant.id, tenant.carol.scope.user_id, rule.id, {"enabled": False})
    made, switched = _changes(tenant)
    assert (made["target"], made["target_id"], made["action"], made["via"]) == (
        "approval_rule", rule.id, "created", "page",
    )  # fmt: skip
    assert switched["changes"] == {
        "enabled": [True, False],
        "owner_id": [str(tenant.olga.scope.user_id), str(tenant.carol.scope.user_id)],
    }


def test_what_operators_change_in_the_admin_is_on_record(tenant: Cast) -> None:
    operator(tenant.olga)
    client = _client(tenant.olga)
    with on_login("operator"):
        agent = Agent.objects.get(tenant_id=tenant.id)
        bob = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id)
    form = {"tenant": tenant.id, "tool_name": "save_note", "enabled": "on", "rate": "3/m"}
    form |= {"approvals_needed": 1, "approval_seconds": 86_400}
    assert client.post("/admin/tools/toolsetting/add/", form).status_code == 302
    grant = {"tenant": tenant.id, "tool_name": "save_note", "effect": "deny", "user": bob.user_id, "role": ""}
    assert client.post("/admin/tools/grant/add/", grant).status_code == 302
    shown = {
        "tenant": tenant.id, "slug": "default", "name": "Default", "instructions": "Be kind.", "model": "",
        "tools": '"all"', "is_default": "on", "max_tier": "", "on_refused_approval": "tell",
        "on_disconnect": "continue", "max_turns": 9, "max_seconds": agent.max_seconds, "max_run_tokens": 250000,
        "max_run_usd": "0.50", "tool_seconds": 30, "max_result_bytes": 16384,
    }  # fmt: skip
    with on_login("operator"):
        fields = {each.name: getattr(agent, each.attname) for each in Agent._meta.concrete_fields}
    shown = {name: "" if value is None else value for name, value in fields.items() if name not in shown} | shown
    assert client.post(f"/admin/gateway/agent/{agent.id}/change/", shown).status_code == 302
    [grant_row] = rows("SELECT id FROM grants WHERE tenant_id = %(t)s", t=tenant.id)
    deleted = {"action": "delete_selected", "_selected_action": [str(grant_row["id"])], "post": "yes"}
    assert client.post("/admin/tools/grant/", deleted).status_code == 302
    [key] = rows("SELECT id FROM api_keys WHERE user_id = %(u)s", u=bob.user_id)
    revoked = {"action": "revoke", "_selected_action": [str(key["id"])]}
    assert client.post("/admin/tenants/apikey/", revoked).status_code == 302
    made = _changes(tenant)
    assert [(each["target"], each["action"], each["via"]) for each in made] == [
        ("tool_setting", "created", "admin"), ("grant", "created", "admin"), ("agent", "changed", "admin"),
        ("grant", "deleted", "admin"), ("key", "changed", "admin"),
    ]  # fmt: skip
    assert {each["actor_id"] for each in made} == {tenant.olga.scope.user_id}
    assert made[1]["changes"]["user_id"] == [None, str(bob.user_id)]
    assert made[2]["changes"] == {
        "instructions": ["", "Be kind."],
        "max_turns": [8, 9],
        "max_run_tokens": [None, 250_000],
        "max_run_usd": [None, "0.5"],
    }
    assert list(made[4]["changes"]) == ["revoked_at"]


def test_a_role_in_the_admin_and_on_the_command_line_is_on_record(tenant: Cast) -> None:
    operator(tenant.olga)
    with on_login("operator"):
        bob = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id)
    form = {
        "username": tenant.bob.username, "email": "", "is_active": "", "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 1, "memberships-0-id": bob.id, "memberships-0-user": bob.user_id,
        "memberships-0-tenant": tenant.id, "memberships-0-role": "auditor",
    }  # fmt: skip
    assert _client(tenant.olga).post(f"/admin/tenants/user/{bob.user_id}/change/", form).status_code == 302
    call_command("create_member", tenant=tenant.slug, username=tenant.bob.username, role="member")
    call_command("create_api_key", tenant=tenant.slug, user=tenant.alice.username, name="Alice's laptop")
    made = _changes(tenant)
    assert [(each["target"], each["changes"], each["via"]) for each in made[:3]] == [
        ("member", {"active": [True, False]}, "admin"),
        ("member", {"role": ["member", "auditor"]}, "admin"),
        ("member", {"role": ["auditor", "member"]}, "command"),
    ]
    assert (made[3]["target"], made[3]["action"], made[3]["actor_id"]) == ("key", "created", None)
    # People are named by id alone, so that nothing is left of them once they are erased.
    assert tenant.bob.username not in str(made) and "laptop" not in str(made)


def test_auditors_and_owners_read_the_changes_of_their_tenant_alone(tenant: Cast, other_tenant: Cast) -> None:
    made: list[tuple[Said | None, Said | None]] = [(None, _said(tenant, number=number)) for number in range(5)]
    _record(tenant.olga, *made)
    _record(other_tenant.olga, (None, _said(other_tenant, number=9)))
    page = _get(tenant.dana, limit=3).json()
    assert [each["changes"] for each in page["results"]] == [{"number": [None, number]} for number in (4, 3, 2)]
    assert page["results"][0]["actor"] == {"id": str(tenant.olga.scope.user_id), "username": tenant.olga.username}
    following = _get(tenant.olga, page["next"]).json()
    assert [each["changes"] for each in following["results"]] == [{"number": [None, number]} for number in (1, 0)]
    assert set(page["results"][0]) == {
        "id", "actor", "via", "target", "target_id", "name", "action", "changes", "created_at",
    }  # fmt: skip
    for person in (tenant.alice, tenant.carol):
        refused = _get(person)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert _get(tenant.dana, by=tenant.alice.username).json()["results"] == []
    assert len(_get(tenant.dana, by=tenant.olga.username, target="thing", name="a thing").json()["results"]) == 5
    assert _get(tenant.dana, target="\x00").status_code == 400
    assert _get(tenant.dana, since="2999-01-01T00:00:00Z").json()["results"] == []


def test_what_nobody_asked_for_is_toolgates_own_and_an_actor_holds_inside_alone() -> None:
    someone = uuid.uuid4()
    with acting(someone, "page"):
        assert changes.actor() == changes.Actor(someone, "page")
    assert changes.actor() == changes.TOOLGATE


def test_a_kind_says_its_fields_as_json_has_them(tenant: Cast) -> None:
    row = Agent(tenant_id=tenant.id, slug="a", tools=["save_note"], created_at=datetime(2027, 1, 1, tzinfo=UTC))
    said = Kind("agent", "slug", ("tools", "created_at", "id")).of(row)
    assert said.values == {"tools": ["save_note"], "created_at": "2027-01-01T00:00:00+00:00", "id": str(row.id)}
