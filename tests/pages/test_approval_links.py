"""One request's page, as the links in notices lead to it: through the log-in page, and in another of one's tenants."""

import pytest
from django.test import Client

from tests.approvals.api import assert_untouched, decide
from tests.approvals.requests import held
from tests.notifications.outbox import owner
from tests.pages.test_approvals import ids, offers, signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant
from tests.stack import Stack


def join(person: Person, tenant: Cast, role: str) -> None:
    """Make somebody a member of another tenant too."""
    owner(
        "INSERT INTO memberships (id, tenant_id, user_id, role, created_at)"
        " VALUES (gen_random_uuid(), %s, %s, %s, now())",
        tenant.id, person.scope.user_id, role,
    )  # fmt: skip


def test_the_link_leads_through_the_log_in_page_to_the_request() -> None:
    cast = make_tenant(PASSWORD)
    request = held(cast.alice)
    client = Client()
    answer = client.get(f"/approvals/{request}/")
    assert (answer.status_code, answer["Location"]) == (302, f"/accounts/login/?next=/approvals/{request}/")
    values = {"username": cast.carol.username, "password": PASSWORD, "next": f"/approvals/{request}/"}
    answer = client.post(answer["Location"], values, follow=True)
    assert answer.redirect_chain == [(f"/approvals/{request}/", 302)]
    page = answer.content.decode()
    assert (ids(page), offers(page)) == ([request], ["approve", "deny"])
    assert "Two litres" in page


def test_a_request_that_is_decided_shows_its_outcome_and_no_buttons(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    decide(stack, tenant.carol, request, "deny", reason="Too early.")
    page = signed_in(tenant.olga).get(f"/approvals/{request}/").content.decode()
    assert (ids(page), offers(page)) == ([request], [])
    assert f"Denied by {tenant.carol.username}" in page
    assert "Too early." in page


def test_who_is_in_several_tenants_is_told_where_the_request_is_and_switches_there(
    tenant: Cast, other_tenant: Cast
) -> None:
    request = held(other_tenant.alice)
    join(tenant.carol, other_tenant, "approver")
    client = signed_in(tenant.carol)
    path = f"/approvals/{request}/"
    answer = client.get(path)
    page = answer.content.decode()
    assert (answer.status_code, ids(page), offers(page)) == (404, [], [])
    assert f"This request is in {other_tenant.slug.title()}" in page
    assert "save_note" not in page
    # Nothing is decided from the wrong tenant, and looking switches nobody.
    assert client.post(path, {"verdict": "approve"}).status_code == 404
    assert_untouched(request)
    assert client.get(path).status_code == 404
    answer = client.post("/accounts/tenant/", {"tenant": str(other_tenant.id), "next": path}, follow=True)
    assert answer.redirect_chain == [(path, 302)]
    page = answer.content.decode()
    assert (ids(page), offers(page)) == ([request], ["approve", "deny"])


@pytest.mark.parametrize(("role", "status"), [("member", False), ("auditor", True)])
def test_who_may_not_read_it_in_the_other_tenant_is_not_told(
    tenant: Cast, other_tenant: Cast, role: str, status: bool
) -> None:
    request = held(other_tenant.alice)
    join(tenant.carol, other_tenant, role)
    answer = signed_in(tenant.carol).get(f"/approvals/{request}/")
    assert answer.status_code == 404
    assert ("This request is in" in answer.content.decode()) == status


def test_a_stranger_and_a_former_member_are_told_nothing(tenant: Cast, other_tenant: Cast) -> None:
    request = held(other_tenant.alice)
    page = signed_in(tenant.olga).get(f"/approvals/{request}/")
    assert (page.status_code, other_tenant.slug in page.content.decode().casefold()) == (404, False)


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/x", "javascript:alert(1)", "/\\evil.example", "http:///x"]
)
def test_a_switch_goes_on_at_this_site_only(tenant: Cast, elsewhere: str) -> None:
    answer = signed_in(tenant.carol).post("/accounts/tenant/", {"tenant": str(tenant.id), "next": elsewhere})
    assert (answer.status_code, answer["Location"]) == (302, "/")
