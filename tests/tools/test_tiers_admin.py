"""Tiers and approvals in the admin's forms for tools and agents."""

from typing import Any

import pytest
from django.forms import model_to_dict

from gateway.models import Agent
from tenants.scope.routing import on_login
from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

SETTINGS = "/admin/tools/toolsetting/"


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    """Olga as an operator."""
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def form(cast: Cast, **more: Any) -> dict[str, Any]:
    """The form of a tool's setting, filled in."""
    return {
        "tenant": str(cast.id), "tool_name": "save_note", "enabled": "on", "rate": "", "tier": "elevated",
        "approvals_needed": "2", "approval_seconds": "172800", **more,
    }  # fmt: skip


def saved(cast: Cast) -> list[dict[str, Any]]:
    """The tenant's settings."""
    return rows("SELECT * FROM tool_settings WHERE tenant_id = %(t)s", t=cast.id)


def test_a_tier_is_raised_and_approvals_are_set(admin: Admin, tenant: Cast) -> None:
    assert admin.post(f"{SETTINGS}add/", form(tenant)).url.path == SETTINGS
    [row] = saved(tenant)
    assert (row["tier"], row["approvals_needed"], row["approval_seconds"]) == ("elevated", 2, 172_800)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tier": "read_only"}, "save_note declares workspace: this changes nothing. A tier can only be raised."),
        ({"tier": "workspace"}, "save_note declares workspace: this changes nothing."),
        ({"tool_name": "send_email", "tier": "system"}, "send_email declares elevated: this changes nothing."),
        ({"tool_name": "save_notes"}, "There is no such tool, so its tier cannot be raised."),
        ({"tier": "highest"}, "Select a valid choice."),
        ({"approvals_needed": "0"}, "Ensure this value is greater than or equal to 1."),
        ({"rate": "often"}, "often is no rate; write calls per second, minute, hour or day"),
        ({"rate": "10/0m"}, "10/0m is no rate"),
        ({"rate": "-1/m"}, "-1/m is no rate"),
        ({"approval_seconds": "0"}, "Ensure this value is greater than or equal to 60."),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_what_would_change_nothing_or_can_never_be_is_refused(
    admin: Admin, tenant: Cast, more: dict[str, Any], words: str
) -> None:
    assert words in admin.post(f"{SETTINGS}add/", form(tenant, **more)).text
    assert saved(tenant) == []


def test_a_setting_without_a_tier_is_saved(admin: Admin, tenant: Cast) -> None:
    admin.post(f"{SETTINGS}add/", form(tenant, tier="", tool_name="send_email"))
    assert [row["tier"] for row in saved(tenant)] == [""]


def test_an_agents_reach_and_what_follows_a_refusal_can_be_changed(admin: Admin, tenant: Cast) -> None:
    with on_login("operator"):
        agent = Agent.objects.get(tenant_id=tenant.id)
    page = f"/admin/gateway/agent/{agent.pk}/change/"
    given = {name: value for name, value in model_to_dict(agent).items() if value not in (None, False)}
    filled = given | {"tools": '"all"', "max_tier": "workspace", "on_refused_approval": "halt"}
    assert admin.post(page, filled).url.path == "/admin/gateway/agent/"
    with on_login("operator"):
        agent.refresh_from_db()
    assert (agent.max_tier, agent.on_refused_approval) == ("workspace", "halt")


def test_the_settings_of_tools_are_listed_and_no_secret_is_shown(admin: Admin) -> None:
    page = admin.get(f"{SETTINGS}installed")
    assert page.status_code == 200
    for text in (
        "web_search",
        "BRAVE_API_KEY",
        "the key of Brave Search",
        "not set",
        "https://serpapi.com",
        "add_task",
    ):
        assert text in page.text
    assert "installed" in admin.get(SETTINGS).text
