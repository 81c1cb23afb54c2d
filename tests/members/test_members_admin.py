"""What an operator does about people of any tenant, in the admin."""

import re
from typing import Any

import pytest

from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.members.test_invitations import JOIN, opened, role_of
from tests.members.test_members_api import roles
from tests.people import Cast
from tests.stack import Stack

PAGE = "/admin/tenants/invitation/"


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def test_an_invitation_is_made_and_its_link_shown_once(admin: Admin, tenant: Cast, other_tenant: Cast) -> None:
    form = {"tenant": str(other_tenant.id), "role": "owner", "email": "", "days": "7"}
    answer = admin.post(f"{PAGE}add/", form)
    [link] = re.findall(r"data-link>([^<]+)<", answer.text)
    assert "no-store" in answer.headers["cache-control"]
    [row] = rows("SELECT id, created_by_id FROM invitations WHERE tenant_id = %(t)s", t=other_tenant.id)
    assert row["created_by_id"] is None
    for path in (PAGE, f"{PAGE}{row['id']}/change/"):
        page = admin.get(path)
        assert (page.status_code, link in page.text) == (200, False)
    assert opened(link, tenant.alice).post(JOIN).status_code == 302
    assert role_of(other_tenant, tenant.alice.username) == "owner"


def test_an_invitation_that_makes_no_sense_is_refused_in_the_form(admin: Admin, tenant: Cast) -> None:
    for wrong in ({"email": "nothing"}, {"days": "0"}, {"role": "god"}):
        form: dict[str, Any] = {"tenant": str(tenant.id), "role": "member", "email": "", "days": "7"} | wrong
        assert admin.post(f"{PAGE}add/", form).status_code == 200
    assert rows("SELECT 1 FROM invitations WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_invitations_are_revoked_in_bulk(admin: Admin, tenant: Cast, other_tenant: Cast) -> None:
    links = []
    for each in (tenant, other_tenant):
        form = {"tenant": str(each.id), "role": "member", "email": "", "days": "7"}
        links += re.findall(r"data-link>([^<]+)<", admin.post(f"{PAGE}add/", form).text)
    made = rows("SELECT id FROM invitations WHERE tenant_id = ANY(%(t)s)", t=[tenant.id, other_tenant.id])
    chosen = [str(row["id"]) for row in made]
    assert admin.post(PAGE, {"action": "revoke", "_selected_action": chosen}).status_code in (200, 302)
    assert [opened(link).get(JOIN).status_code for link in links] == [410, 410]
    found = rows("SELECT via FROM setting_changes WHERE tenant_id = %(t)s AND action = 'changed'", t=other_tenant.id)
    assert found == [{"via": "admin"}]


def test_the_last_owner_stays_one_in_the_admin_too(admin: Admin, tenant: Cast) -> None:
    path = f"/admin/tenants/tenant/{tenant.id}/change/"
    fields = dict(re.findall(r'<input type="hidden" name="(memberships-[^"]+)" value="([^"]*)"', admin.get(path).text))
    members = rows("SELECT id, user_id, role FROM memberships WHERE tenant_id = %(t)s", t=tenant.id)
    form: dict[str, Any] = {"slug": tenant.slug, "name": tenant.slug, "role_ceilings": "{}", "default_tools": "[]"}
    form |= {name: value for name, value in fields.items() if name.endswith("_FORMS")}
    for number, row in enumerate(members):
        role = "member" if row["role"] == "owner" else row["role"]
        form |= {f"memberships-{number}-{name}": str(value) for name, value in (row | {"role": role}).items()}
        form |= {f"memberships-{number}-tenant": str(tenant.id), f"memberships-{number}-user": str(row["user_id"])}
    answer = admin.post(path, form)
    assert (answer.status_code, "Make another member an owner first" in answer.text) == (200, True)
    assert roles(tenant)["olga"] == "owner"
