"""Rules in the admin, as an operator makes, changes and switches them off."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.approvals.admin import Admin, operator
from tests.approvals.requests import held
from tests.approvals.rules import TO_BOB, make_rule
from tests.approvals.test_rules_api import saved
from tests.people import Cast
from tests.stack import Stack

PATH = "/admin/approvals/approvalrule/"
ADD = f"{PATH}add/"
MAIL = {"to": "bob@example.com", "subject": "<b>Hi</b>", "body": "Text"}


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    """Olga, an owner of her tenant, as an operator."""
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def form(cast: Cast, **more: Any) -> dict[str, Any]:
    """The add form, filled in."""
    ends = datetime.now(UTC) + timedelta(days=1)
    return {
        "tenant": str(cast.id), "name": "Mail to bob", "effect": "approve", "tool_name": "send_email", "user": "",
        "role": "", "agent": "", "condition": json.dumps(TO_BOB), "uses_left": "3",
        "expires_at_0": f"{ends:%Y-%m-%d}", "expires_at_1": f"{ends:%H:%M:%S}", **more,
    }  # fmt: skip


def test_a_rule_is_saved_only_after_a_look_at_what_it_would_have_done(admin: Admin, tenant: Cast) -> None:
    held(tenant.alice, "send_email", input=MAIL, status="approved")
    preview = admin.post(ADD, form(tenant))
    assert preview.status_code == 200
    assert "approved 1</strong>" in " ".join(preview.text.split())
    assert "1 approved by a human" in preview.text
    assert "&lt;b&gt;Hi&lt;/b&gt;" in preview.text and "<b>Hi</b>" not in preview.text
    assert saved(tenant) == []
    done = admin.post(ADD, form(tenant, confirmed="yes"))
    assert done.url.path == PATH
    [rule] = saved(tenant)
    assert {name: rule[name] for name in ("name", "effect", "tool_name", "condition", "uses_left", "enabled")} == {
        "name": "Mail to bob", "effect": "approve", "tool_name": "send_email", "condition": TO_BOB, "uses_left": 3,
        "enabled": True,
    }  # fmt: skip
    assert (rule["tenant_id"], rule["owner_id"]) == (tenant.id, tenant.olga.scope.user_id)
    assert "In force" in admin.get(PATH).text


def test_the_preview_hands_the_form_on_as_it_was(admin: Admin, tenant: Cast) -> None:
    given = form(tenant, name='"><script>alert(1)</script>')
    preview = admin.post(ADD, given)
    assert "<script>alert" not in preview.text
    for name in given:
        assert f'<input type="hidden" name="{name}"' in preview.text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"condition": "{"}, "not valid JSON"),
        ({"condition": "[" * 5000}, "nested more than 64 levels"),
        ({"condition": "[1]"}, "must be a JSON Schema, which is an object"),
        ({"condition": '{"required": ["too"]}'}, "names too, which the tool does not have there"),
        ({"tool_name": "*"}, "A rule that approves is about one tool."),
        ({"tool_name": "nothing"}, "Select a valid choice"),
        ({"expires_at_0": "", "expires_at_1": ""}, "must expire, within a year"),
        ({"uses_left": "0"}, "uses_left must be from 1"),
        ({"agent": "nobody"}, "has no agent"),
        ({"tenant": ""}, "This field is required."),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_what_cannot_be_is_refused_beside_its_field_and_nothing_is_saved(
    admin: Admin, tenant: Cast, more: dict[str, Any], words: str
) -> None:
    for confirmed in ({}, {"confirmed": "yes"}):
        answer = admin.post(ADD, form(tenant, **more, **confirmed))
        assert answer.status_code == 200
        assert words in answer.text
        assert "data-would" not in answer.text
    assert saved(tenant) == []


def test_an_operator_who_is_no_owner_there_makes_no_rule_that_approves(
    admin: Admin, tenant: Cast, other_tenant: Cast
) -> None:
    for confirmed in ({}, {"confirmed": "yes"}):
        answer = admin.post(ADD, form(other_tenant, **confirmed))
        assert "Only an owner of this tenant can answer for a rule that approves calls." in answer.text
    assert saved(other_tenant) == []
    rule = make_rule(other_tenant)
    change = {"name": "Other", "enabled": "on", "uses_left": "", "expires_at_0": "2030-01-01", "expires_at_1": "00:00"}
    before = saved(other_tenant)
    answer = admin.post(f"{PATH}{rule.id}/change/", change)
    assert answer.status_code == 200
    assert saved(other_tenant) == before
    # To deny, and to switch off, is in every operator's hands.
    denies = form(other_tenant, effect="deny", tool_name="*", uses_left="", condition="", confirmed="yes")
    admin.post(ADD, denies)
    assert [each["effect"] for each in saved(other_tenant)] == ["approve", "deny"]
    admin.post(PATH, {"action": "switch_off", "_selected_action": str(rule.id)})
    assert [each["enabled"] for each in saved(other_tenant)] == [False, True]


def test_a_rule_of_another_tenants_member_is_refused(admin: Admin, tenant: Cast, other_tenant: Cast) -> None:
    answer = admin.post(ADD, form(tenant, user=str(other_tenant.alice.scope.user_id), confirmed="yes"))
    assert "The tenant has no such member." in answer.text
    assert saved(tenant) == []


def test_what_a_rule_is_about_can_only_be_read(admin: Admin, tenant: Cast) -> None:
    rule = make_rule(tenant, condition=TO_BOB, uses_left=2)
    page = f"{PATH}{rule.id}/change/"
    assert "&quot;bob@example.com&quot;" in admin.get(page).text
    ends = datetime.now(UTC) + timedelta(days=2)
    changes = {
        "name": "Renamed", "enabled": "on", "uses_left": "9", "expires_at_0": f"{ends:%Y-%m-%d}",
        "expires_at_1": f"{ends:%H:%M:%S}", "effect": "deny", "tool_name": "*", "condition": "",
    }  # fmt: skip
    assert admin.post(page, changes).url.path == PATH
    [row] = saved(tenant)
    assert [row[name] for name in ("name", "uses_left", "effect", "tool_name", "condition")] == [
        "Renamed", 9, "approve", "send_email", TO_BOB
    ]  # fmt: skip
    answer = admin.post(page, changes | {"expires_at_0": "2020-01-01"})
    assert "expires_at must be in the future." in answer.text
    assert saved(tenant) == [row]


def test_no_rule_is_deleted(admin: Admin, tenant: Cast) -> None:
    rule = make_rule(tenant)
    assert admin.get(f"{PATH}{rule.id}/delete/").status_code == 403
    admin.post(PATH, {"action": "delete_selected", "_selected_action": str(rule.id), "post": "yes"})
    assert len(saved(tenant)) == 1
