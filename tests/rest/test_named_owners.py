"""A refusal that sends somebody to an owner names the owners: to members of the tenant, and to nobody else."""

import asyncio

from tenants.models import Membership, User
from tenants.people import owners
from tenants.scope.routing import on_login
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.pages.call_rows import row
from tests.people import Cast, Person
from tests.stack import Stack

ASKED = "An owner of your tenant can do this."


def named(person: Person, words: str = ASKED) -> str:
    """The words as the person gets them."""

    async def asked() -> str:
        from tenants.scope import transactions

        try:
            return await owners.named(person.principal, words)
        finally:
            await transactions.close_pools()

    return asyncio.run(asked())


def make_owners(tenant: Cast, *people: Person) -> None:
    """Make members owners, as the operator does."""
    with on_login("operator"):
        ids = [person.scope.user_id for person in people]
        Membership.objects.filter(tenant_id=tenant.id, user_id__in=ids).update(role="owner")


def test_a_refused_request_names_the_owner_whatever_the_kind_of_view(stack: Stack, tenant: Cast) -> None:
    ends = f" The owner of your tenant is {tenant.olga.username}."
    missing_scope = stack.get(tenant.alice, "/api/v1/invitations/")
    assert missing_scope.status_code == 403
    assert missing_scope.json()["detail"] == f"This needs the scope admin.{ends}"
    waiting_view = stack.get(tenant.alice, f"/api/v1/tools/save_note/access?user={tenant.bob.username}")
    assert waiting_view.status_code == 403
    assert waiting_view.json()["detail"].endswith(f"with the scope admin.{ends}")


def test_a_refused_page_names_the_owner_too(tenant: Cast) -> None:
    page = signed_in(tenant.alice).get("/settings/people/")
    assert page.status_code == 403
    assert f"The owner of your tenant is {tenant.olga.username}." in page.content.decode()


def test_why_one_may_not_call_a_tool_names_who_can_change_that(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        from tools.models import ToolSetting

        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", enabled=False)
    path = "/api/v1/tools/save_note/access"
    [refused] = [gate for gate in stack.get(tenant.alice, path).json()["gates"] if not gate["ok"]]
    assert refused["user"].endswith(f" The owner of your tenant is {tenant.olga.username}.")
    [own] = [gate for gate in stack.get(tenant.olga, path).json()["gates"] if not gate["ok"]]
    assert own["user"] + f" The owner of your tenant is {tenant.olga.username}." == refused["user"]


def test_the_page_of_a_refused_call_names_the_owner_to_whom_it_sends_to_one(tenant: Cast) -> None:
    asked, other = (
        row(tenant.alice, status="error", error_code="not_allowed", output=None, error_message=words)
        for words in (f"No. {ASKED}", "There is no such tool.")
    )
    said = f"The owner of your tenant is {tenant.olga.username}."
    assert said in signed_in(tenant.alice).get(f"/history/{asked}/").content.decode()
    assert said in signed_in(tenant.dana).get(f"/history/{asked}/").content.decode()
    assert said not in signed_in(tenant.olga).get(f"/history/{asked}/").content.decode()
    assert said not in signed_in(tenant.alice).get(f"/history/{other}/").content.decode()
    [stored] = rows("SELECT error_message FROM tool_calls WHERE id = %(id)s", id=asked)
    assert stored["error_message"] == f"No. {ASKED}"


def test_at_most_two_owners_are_named_and_none_who_cannot_log_in(tenant: Cast, other_tenant: Cast) -> None:
    make_owners(tenant, tenant.bob)
    both = named(tenant.alice)
    assert both.startswith(f"{ASKED} Owners of your tenant are ")
    assert set(both[len(ASKED) :].removeprefix(" Owners of your tenant are ").removesuffix(".").split(" and ")) == {
        tenant.bob.username,
        tenant.olga.username,
    }
    make_owners(tenant, tenant.carol)
    assert named(tenant.alice).endswith(" and others.")
    with on_login("operator"):
        User.objects.filter(id__in=[tenant.bob.scope.user_id, tenant.carol.scope.user_id]).update(is_active=False)
    assert named(tenant.alice) == f"{ASKED} The owner of your tenant is {tenant.olga.username}."
    assert other_tenant.olga.username in named(other_tenant.alice)


def test_who_is_an_owner_or_no_member_any_more_or_asks_for_something_else_is_told_no_names(tenant: Cast) -> None:
    assert named(tenant.olga) == ASKED
    assert named(tenant.alice, "There is no such tool.") == "There is no such tool."
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.alice.scope.user_id).delete()
    assert named(tenant.alice) == ASKED
    assert not owners.meant(None, ASKED)
