"""Tiers: operator and tenant raise them and never lower them, agents and roles reach only so far."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from gateway.models import Agent
from tenants.models import Tenant
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast, Person, make_unhurried_tenant
from tests.stack import Stack
from tools.gates import policy
from tools.gates.policy import Policy, Setting
from tools.interface import Tier, Tool
from tools.models import Grant, ToolSetting
from tools.registry import registry

NOTE = '{"title": "Milk", "content": "Two litres"}'
MAIL = '{"to": "bob@example.com", "subject": "Hi", "body": "Text"}'
NOBODY = policy.from_row(None, "all")


@pytest.fixture
def tenant() -> Cast:
    """One whose limits' windows do not end within a test."""
    return make_unhurried_tenant()


def tool_of(tier: Tier) -> Tool:
    """A tool that declares the tier."""

    class Anything(Tool):
        """Does nothing."""

    Anything.name, Anything.tier = "anything", tier
    return Anything()


def effective(declared: Tier, tenants: str, operators: str) -> Tier:
    """The tier of a tool for which the tenant and the operator say something, or nothing."""
    known: Policy = replace(NOBODY, settings={"anything": Setting(tier=tenants)})
    with override_settings(TOOLGATE_TOOL_TIERS={"anything": operators} if operators else {}):
        return known.tier(tool_of(declared))


@pytest.mark.parametrize("declared", Tier)
@pytest.mark.parametrize("tenants", ["", *Tier])
@pytest.mark.parametrize("operators", ["", *Tier])
def test_the_highest_word_counts_and_nobody_lowers_a_tier(declared: Tier, tenants: str, operators: str) -> None:
    said = [declared, *(Tier(tier) for tier in (tenants, operators) if tier)]
    assert effective(declared, tenants, operators) is max(said, key=lambda tier: tier.rank)


def test_what_is_said_of_one_tool_is_not_said_of_another() -> None:
    with override_settings(TOOLGATE_TOOL_TIERS={"save_note": "elevated"}):
        tiers = {tool.name: NOBODY.tier(tool) for tool in registry().all()}
    assert tiers["save_note"] is Tier.ELEVATED
    assert (tiers["add_task"], tiers["web_search"]) == (Tier.WORKSPACE, Tier.READ_ONLY)


# --- over the wire ---------------------------------------------------------------------------------------------------
def setting(cast: Cast, tool: str, **more: Any) -> None:
    """What the tenant says about a tool."""
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=cast.id, tool_name=tool, **more)


def tiers(stack: Stack, person: Person) -> dict[str, str]:
    """The tools that the person is offered."""
    return {tool["name"]: tool["tier"] for tool in stack.get(person, "/api/v1/tools/").json()["tools"]}


def outcome(stack: Stack, person: Person, line: str) -> str:
    """What becomes of the one call of a chat."""
    [call] = stack.chat(person, f"call: {line}").json()["tool_calls"]
    return str(call["error"]["code"] if call["error"] else call["status"])


def test_a_tenant_raises_a_tier_for_itself_only(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    setting(tenant, "save_note", tier="elevated")
    assert (tiers(stack, tenant.alice)["save_note"], tiers(stack, other_tenant.alice)["save_note"]) == (
        "elevated", "workspace"
    )  # fmt: skip
    assert outcome(stack, tenant.alice, f"save_note {NOTE}") == "awaiting_approval"
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["tier"] == "elevated"
    assert row["decision"][-1] == {
        "gate": "approval", "ok": True, "holds": True,
        "log": "save_note is elevated; it declares workspace: a human has to approve it",
    }  # fmt: skip
    assert outcome(stack, other_tenant.alice, f"save_note {NOTE}") == "success"


def test_a_tenant_does_not_lower_a_tier(stack: Stack, tenant: Cast) -> None:
    setting(tenant, "send_email", tier="read_only")
    setting(tenant, "save_note", tier="read_only")
    assert [tiers(stack, tenant.alice)[name] for name in ("send_email", "save_note")] == ["elevated", "workspace"]
    assert outcome(stack, tenant.alice, f"send_email {MAIL}") == "awaiting_approval"


def test_the_operator_raises_a_tier_for_everyone_and_no_tenant_lowers_it(tenant: Cast) -> None:
    setting(tenant, "add_task", tier="workspace")
    setting(tenant, "save_note", tier="system")
    with Stack(TOOLGATE_TOOL_TIERS="add_task=elevated, save_note=workspace, send_email=read_only") as stack:
        assert tiers(stack, tenant.alice) == {
            "add_task": "elevated", "cancel_schedule": "workspace", "canvas": "workspace",
            "complete_task": "workspace", "create_reminder": "workspace",
            "delete_file": "workspace", "edit_file": "workspace",
            "file_info": "read_only", "label_session": "workspace", "list_files": "read_only",
            "list_schedules": "read_only", "list_sessions": "read_only", "list_tasks": "read_only",
            "memory_search": "read_only", "memory_store": "elevated", "message": "elevated",
            "read_file": "read_only", "read_session": "read_only", "run_schedule": "workspace",
            "save_note": "system", "schedule": "elevated", "search_files": "read_only", "search_notes": "read_only",
            "send_email": "elevated", "send_to_session": "workspace", "subagent": "workspace",
            "update_task": "workspace", "web_fetch": "elevated", "web_search": "read_only",
            "write_file": "workspace",
        }  # fmt: skip
        access = stack.get(tenant.alice, "/api/v1/tools/add_task/access").json()
        assert (access["tier"], access["allowed"]) == ("elevated", True)
        assert access["gates"][-1]["holds"] is True
        assert outcome(stack, tenant.alice, 'add_task {"title": "Bank"}') == "awaiting_approval"
        assert outcome(stack, tenant.alice, f"save_note {NOTE}") == "success"


def test_an_agent_reaches_only_up_to_its_tier_whatever_is_granted(stack: Stack, tenant: Cast) -> None:
    setting(tenant, "save_note", tier="system")
    with on_login("operator"):
        Agent.objects.create(tenant_id=tenant.id, slug="careful", name="Careful", tools="all", max_tier="workspace")
        Grant.objects.create(tenant_id=tenant.id, tool_name="*", effect="allow")
    offered = stack.get(tenant.alice, "/api/v1/tools/?agent=careful").json()["tools"]
    assert sorted(tool["name"] for tool in offered) == [
        "add_task", "cancel_schedule", "canvas", "complete_task", "create_reminder",
        "delete_file", "edit_file", "file_info",
        "label_session", "list_files", "list_schedules", "list_sessions", "list_tasks", "memory_search",
        "memory_store", "message", "read_file", "read_session", "run_schedule", "schedule", "search_files",
        "search_notes", "send_to_session", "subagent", "update_task", "web_search", "write_file",
    ]  # fmt: skip
    access = stack.get(tenant.alice, "/api/v1/tools/save_note/access?agent=careful").json()
    assert access["allowed"] is False
    assert [(gate["gate"], gate["log"]) for gate in access["gates"] if not gate["ok"]] == [
        ("permission", "system is above what the agent may use, workspace")
    ]
    body = stack.chat(tenant.alice, f"call: save_note {NOTE}\ncall: send_email {MAIL}", agent="careful").json()
    assert [call["error"]["code"] for call in body["tool_calls"]] == ["permission_denied"] * 2
    # The tenant's other agent still may.
    assert outcome(stack, tenant.alice, f"save_note {NOTE}") == "success"


def test_a_raised_tier_counts_against_a_roles_ceiling(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Tenant.objects.filter(id=tenant.id).update(role_ceilings={"member": "workspace"})
    assert outcome(stack, tenant.alice, f"save_note {NOTE}") == "success"
    setting(tenant, "save_note", tier="system")
    assert outcome(stack, tenant.alice, f"save_note {NOTE}") == "permission_denied"
    assert outcome(stack, tenant.carol, f"save_note {NOTE}") == "success"


def test_access_shows_every_gate_and_that_a_human_has_to_approve(stack: Stack, tenant: Cast) -> None:
    access = stack.get(tenant.alice, "/api/v1/tools/send_email/access").json()
    assert (access["tool"], access["tier"], access["allowed"]) == ("send_email", "elevated", True)
    assert [(gate["gate"], gate["ok"], gate.get("holds", False)) for gate in access["gates"]] == [
        ("allowlist", True, False), ("permission", True, False), ("policy", True, False), ("rate_limit", True, False),
        ("approval", True, True),
    ]  # fmt: skip
    assert rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id) == []
