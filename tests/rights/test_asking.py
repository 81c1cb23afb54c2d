"""What raises what may be done or spent asks a session again who it is; what takes away never does."""

import importlib
import json
import pkgutil
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

import approvals
import audit
import gateway
import notifications
import services
import tenants
import tools
from services import changes as service_changes
from services.changes import NewService, Source
from tenants.people.changes import Kind
from tenants.scope import transactions
from tests.agents.asking import ask
from tests.database import rows
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, make_tenant
from tests.rights.action import areas

HOUR_AGO = 3600
LIMITS = "SELECT amount FROM budgets WHERE tenant_id = %(t)s"
ASKED = "Confirm that it is you"
# Kinds of settings of which no change asks, and why.
NEVER_ASK = {
    # `demand_for_key` does: it depends on the key's scopes.
    "key",
    # Only the operator changes them.
    "domain",
    # A session is asked when it makes one, before a network has it prove itself. A key sends where its program wants.
    "destination",
    # It asks what its person can ask in a chat at any time, with the rights of then.
    "schedule",
    # What is remembered for everybody is only deleted by hand: models are told less then.
    "memory",
}


def _kinds() -> dict[str, Kind]:
    """Every kind of setting that some module declares, by its name."""
    found: dict[str, Kind] = {}
    for package in (tenants, audit, tools, services, notifications, approvals, gateway):
        for name in _modules(package):
            module = importlib.import_module(name)
            found |= {each.target: each for each in vars(module).values() if isinstance(each, Kind)}
    return found


def _modules(package: ModuleType) -> list[str]:
    every = pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None)
    return [each.name for each in every if ".migrations" not in each.name and ".management" not in each.name]


def test_the_table_of_rights_says_of_every_kind_of_setting_whether_it_asks_again() -> None:
    kinds = _kinds()
    assert {name for name, kind in kinds.items() if kind.raises is None} == NEVER_ASK, "say `raises`, or why not"
    asked = {name for area in areas().values() for action in area for name in action.asks}
    assert asked == set(kinds) - NEVER_ASK


def _changes(tenant: Cast) -> int:
    return len(rows("SELECT 1 FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id))


def _api(tenant: Cast, method: str, path: str, body: Any = None) -> Any:
    """With a key that has the scope admin, which is never asked."""
    answer = ask(tenant.olga, method, f"/api/v1/{path}", body)
    assert answer.status_code < 300, answer.content
    return answer.json() if answer.content else None


def _shop(tenant: Cast) -> None:
    tool = {"name": "buy", "description": "Buy", "inputSchema": {"type": "object", "properties": {}}}
    tool |= {"http": {"method": "POST", "path": "/buy"}}
    offered = {"version": 2, "name": "shop", "description": "A shop", "tools": [tool]}
    credential = {"type": "bearer", "token": "secret"}
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": credential}
    with transactions.scope(*tenant.olga.scope):
        service_changes.add(tenant.id, NewService.read(body), Source("http", json.dumps(offered)))


@pytest.fixture
def owned() -> tuple[Cast, list[tuple[str, str, Any]], list[tuple[str, str, Any]]]:
    """A tenant with settings of every kind: requests that raise something, and some that take away."""
    tenant = make_tenant(PASSWORD)
    budgets = [
        _api(tenant, "POST", "budgets/", {"unit": "usd", "window": window, "limit": "1"})["id"]
        for window in ("day", "month")
    ]
    _api(tenant, "PATCH", "limits/", {"per_tenant": 10_000, "per_person": 5_000})
    switch = {"target": {"tool": "save_note"}, "reason": "It misbehaves"}
    stopped = _api(tenant, "POST", "kill-switches/", switch)["id"]
    _api(tenant, "POST", "agents/", {"slug": "helper", "name": "Helper", "tools": ["save_note"], "max_tier": "system"})
    _api(tenant, "PATCH", "agents/helper/", {"tools": []})
    rule = {"name": "deny", "effect": "deny", "tool": "send_email"}
    denies = _api(tenant, "POST", "approval-rules/", rule)["id"]
    ends = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    approving = rule | {"name": "approve", "effect": "approve", "expires_at": ends, "uses_left": 5}
    approves = _api(tenant, "POST", "approval-rules/", approving)["id"]
    demanded = {"type": "object", "properties": {"context": {"type": "object"}}, "required": ["context"]}
    condition = _api(tenant, "POST", "access-conditions/", {"name": "c", "tool": "save_note", "condition": demanded})
    _api(tenant, "PUT", "alert-level/", {"level": 2, "reason": "an incident"})
    target = {"channel": "email", "destination": "deciders", "events": ["approval.requested"], "enabled": True}
    target |= {"enabled": False}
    notified = _api(tenant, "POST", "notification-targets/", target)["id"]
    _api(tenant, "PUT", "models/", {"allowed": ["offline/*"]})
    _api(tenant, "PATCH", "tool-settings/save_note/", {"enabled": False, "rate": "5/m"})
    _api(tenant, "PATCH", "tenant/", {"second_factor_required": False, "retention_days": 30})
    denied = _api(tenant, "POST", "grants/", {"tool": "save_note", "effect": "deny", "role": "member"})["id"]
    _shop(tenant)
    raise_ = [
        ("PATCH", f"budgets/{budgets[0]}/", {"limit": "2"}),
        ("DELETE", f"budgets/{budgets[0]}/", None),
        ("PATCH", "limits/", {"per_tenant": 10_001}),
        ("PATCH", "limits/", {"per_person": None}),
        ("DELETE", f"kill-switches/{stopped}/", None),
        ("POST", "agents/", {"slug": "second", "name": "Second", "tools": "all"}),
        ("PATCH", "agents/helper/", {"tools": ["save_note"], "max_tier": "elevated"}),
        ("POST", "agents/helper/versions/1/restore/", {}),
        ("PATCH", f"approval-rules/{denies}/", {"enabled": False}),
        ("POST", "approval-rules/", approving),
        ("PATCH", f"approval-rules/{approves}/", {"uses_left": 6}),
        ("DELETE", f"access-conditions/{condition['id']}/", None),
        ("PATCH", f"access-conditions/{condition['id']}/", {"condition": {"type": "object"}}),
        ("PUT", "alert-level/", {"level": 1, "reason": "over"}),
        ("POST", "alert-level/webhook/", None),
        ("PATCH", f"notification-targets/{notified}/", {"enabled": True}),
        ("PATCH", "models/", {"allowed": None}),
        ("PATCH", "models/", {"prices": [{"model": "offline/*", "input": "0", "output": "0"}]}),
        ("PATCH", "tool-settings/save_note/", {"enabled": True}),
        ("PATCH", "tool-settings/save_note/", {"rate": "50/m"}),
        ("PATCH", "tool-settings/shop.buy/", {"enabled": True}),
        ("PATCH", "services/shop/tools/buy/", {"enabled": True}),
        ("PATCH", "services/shop/", {"credential": {"type": "bearer", "token": "another"}}),
        ("POST", "grants/", {"tool": "save_note", "effect": "allow", "role": "approver"}),
        ("DELETE", f"grants/{denied}/", None),
        ("PATCH", "tenant/", {"retention_days": 20}),
        ("PATCH", "tenant/", {"taint": "observe"}),
        ("PATCH", f"members/{tenant.bob.principal.user_id}/", {"role": "owner"}),
        # An auditor reads what an approver does not.
        ("PATCH", f"members/{tenant.carol.principal.user_id}/", {"role": "auditor"}),
        ("POST", "invitations/", {"role": "member"}),
        ("POST", "sign-on/", {"domain": "a.example", "issuer": "https://a.example", "client_id": "a"}),
    ]
    take_away = [
        ("POST", "budgets/", {"unit": "usd", "window": "total", "limit": "1"}),
        ("PATCH", f"budgets/{budgets[1]}/", {"limit": "0.5"}),
        ("PATCH", "limits/", {"per_tenant": 9_000, "per_key": 3_000}),
        ("POST", "kill-switches/", {"target": {"tool": "add_task"}, "reason": "It misbehaves"}),
        ("PATCH", "agents/helper/", {"tools": [], "max_tier": "read_only", "instructions": "Be short."}),
        ("PATCH", f"approval-rules/{approves}/", {"uses_left": 4}),
        ("PATCH", f"approval-rules/{approves}/", {"enabled": False}),
        ("POST", "approval-rules/", rule | {"name": "another"}),
        ("POST", "access-conditions/", {"name": "d", "tool": "add_task", "condition": demanded}),
        ("PUT", "alert-level/", {"level": 3, "reason": "worse"}),
        ("PATCH", f"notification-targets/{notified}/", {"name": "Deciders"}),
        ("PATCH", "models/", {"allowed": []}),
        ("PATCH", "tool-settings/save_note/", {"rate": "4/m", "approvals_needed": 2}),
        ("PATCH", "services/shop/", {"enabled": False}),
        ("PATCH", "services/shop/", {"credential": {"type": "none"}}),
        ("POST", "grants/", {"tool": "add_task", "effect": "deny", "role": "member"}),
        ("PATCH", "tenant/", {"retention_days": 40}),
        ("PATCH", "tenant/", {"taint": "deny"}),
        ("DELETE", f"members/{tenant.alice.principal.user_id}/", None),
    ]
    return tenant, raise_, take_away


def test_whatever_raises_what_may_be_done_or_spent_asks_a_session_again_and_changes_nothing(owned: Any) -> None:
    tenant, raising, _ = owned
    client, wrong, before = signed_in(tenant.olga, seconds_ago=HOUR_AGO), [], _changes(tenant)
    for method, path, body in raising:
        answer = client.generic(method, f"/api/v1/{path}", json.dumps(body), "application/json")
        if answer.status_code != 403 or answer.json()["code"] != "reauthentication_required":
            wrong.append(f"{method} {path} {body}: {answer.status_code} {answer.content.decode()[:300]}")
        if _changes(tenant) != before:
            wrong.append(f"{method} {path} {body} changed something")
    assert not wrong, "\n".join(wrong)
    # What was written before the question is undone, too.
    assert {row["amount"] for row in rows(LIMITS, t=tenant.id)} == {1}
    assert rows("SELECT 1 FROM agents WHERE tenant_id = %(t)s AND slug = 'second'", t=tenant.id) == []


def test_what_takes_away_is_never_delayed_by_a_question(owned: Any) -> None:
    tenant, _, taking_away = owned
    client, wrong = signed_in(tenant.olga, seconds_ago=HOUR_AGO), []
    for method, path, body in taking_away:
        answer = client.generic(method, f"/api/v1/{path}", json.dumps(body), "application/json")
        if answer.status_code >= 300:
            wrong.append(f"{method} {path} {body}: {answer.status_code} {answer.content.decode()[:300]}")
    assert not wrong, "\n".join(wrong)


def test_a_page_asks_and_goes_on_with_what_was_sent_once_the_password_is_given() -> None:
    tenant = make_tenant(PASSWORD)
    budget = _api(tenant, "POST", "budgets/", {"unit": "usd", "window": "day", "limit": "1"})["id"]
    client, path = signed_in(tenant.olga, seconds_ago=HOUR_AGO), f"/settings/spend/budgets/{budget}/"
    asked = client.post(path, {"limit": "5"})
    assert asked.status_code == 403 and ASKED in asked.content.decode()
    assert rows(LIMITS, t=tenant.id) == [{"amount": 1}]
    assert confirmed(client, asked, path).status_code == 302
    assert rows(LIMITS, t=tenant.id) == [{"amount": 5}]
    # It holds for a while.
    assert client.post(f"{path}end/").status_code == 302
    assert rows(LIMITS, t=tenant.id) == []


def test_a_tool_of_a_service_is_switched_on_by_a_page_after_the_password_only() -> None:
    tenant = make_tenant(PASSWORD)
    _shop(tenant)
    client, path = signed_in(tenant.olga, seconds_ago=HOUR_AGO), "/settings/services/shop/tools/"
    chosen = {"tool": "buy", "action": "on", "confirmed": "yes", "buy.tier": "elevated"}
    asked = client.post(path, chosen)
    assert asked.status_code == 403 and ASKED in asked.content.decode()
    enabled = "SELECT enabled, tier FROM service_tools WHERE tenant_id = %(t)s"
    assert [each["enabled"] for each in rows(enabled, t=tenant.id)] == [False]
    assert confirmed(client, asked, path).status_code == 302
    assert rows(enabled, t=tenant.id) == [{"enabled": True, "tier": "elevated"}]
    client = signed_in(tenant.olga, seconds_ago=HOUR_AGO)
    assert client.post(path, {"tool": "buy", "action": "off"}).status_code == 302
    assert [each["enabled"] for each in rows(enabled, t=tenant.id)] == [False]
