"""`/settings/people/`: what an owner does there, without a script."""

import re
from typing import Any

from tests.database import rows
from tests.members.test_invitations import JOIN, name, opened, role_of
from tests.members.test_invitations import join as joined
from tests.members.test_members_api import ask, roles
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant

PAGE = "/settings/people/"


def text(answer: Any) -> str:
    return str(answer.content.decode())


def path(person: Person, what: str) -> str:
    return f"{PAGE}{person.principal.user_id}/{what}/"


def test_an_owner_sees_everybody_invites_and_the_link_works(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    page = text(browser.get(PAGE))
    assert all(person.username in page for person in (tenant.alice, tenant.bob, tenant.carol, tenant.dana, tenant.olga))
    username = name()
    address = f"{username}@example.com"
    made = text(browser.post(PAGE, {"email": address, "role": "approver", "days": "7"}))
    [link] = re.findall(r'<pre class="sheet" tabindex="0">([^<]+)</pre>', made)
    again = text(browser.get(PAGE))
    assert address in again and link not in again
    assert joined(opened(link), username)["Location"] == "/"
    assert role_of(tenant, username) == "approver"
    assert address in text(browser.get(PAGE))  # of the new member
    assert rows("SELECT 1 FROM invitations WHERE tenant_id = %(t)s AND accepted_at IS NULL", t=tenant.id) == []


def test_an_owner_changes_a_role_and_removes_somebody(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    assert browser.post(path(tenant.alice, "role"), {"role": "auditor"})["Location"] == PAGE
    assert f"{tenant.alice.username} is an auditor now." in text(browser.get(PAGE))
    assert browser.post(path(tenant.alice, "remove"))["Location"] == PAGE
    assert f"{tenant.alice.username} is removed." in text(browser.get(PAGE))
    assert "alice" not in roles(tenant)
    assert ask(tenant.alice, "GET").status_code == 401
    assert browser.post(path(tenant.alice, "remove")).status_code == 404


def test_the_last_owner_is_told_to_make_another_first(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    for what, form in (("role", {"role": "member"}), ("remove", {})):
        answer = browser.post(path(tenant.olga, what), form)
        assert (answer.status_code, "Make another member an owner first." in text(answer)) == (409, True)
    assert roles(tenant)["olga"] == "owner"


def test_raising_a_role_and_inviting_ask_for_the_password_after_a_while() -> None:
    tenant = make_tenant(PASSWORD)
    browser = signed_in(tenant.olga, seconds_ago=3600)
    for where, form in ((path(tenant.bob, "role"), {"role": "owner"}), (PAGE, {"role": "owner", "days": "7"})):
        asked = browser.post(where, form)
        assert (asked.status_code, "Confirm that it is you" in text(asked)) == (403, True)
    assert roles(tenant)["bob"] == "member"
    assert rows("SELECT 1 FROM invitations WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert browser.post(path(tenant.carol, "role"), {"role": "member"})["Location"] == PAGE
    asked = browser.post(path(tenant.bob, "role"), {"role": "owner"})
    assert confirmed(browser, asked, path(tenant.bob, "role"))["Location"] == PAGE
    assert roles(tenant)["bob"] == "owner"


def test_what_makes_no_sense_is_said_in_the_form(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    for form, words in (
        ({"email": "nothing", "role": "member", "days": "7"}, "This is not an e-mail address"),
        ({"email": "x" * 5000, "role": "member", "days": "7"}, "at most 254 characters"),
        ({"email": "", "role": "god", "days": "7"}, "god is not one of the available choices"),
        ({"role": "member", "days": "365"}, "365 is not one of the available choices"),
    ):
        answer = browser.post(PAGE, form)
        assert answer.status_code == 400
        if "365" not in words:
            assert words in text(answer)
    assert browser.post(path(tenant.bob, "role"), {"role": "god"}).status_code == 400
    assert rows("SELECT 1 FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_an_invitation_is_revoked_on_the_page(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    made = ask(tenant.olga, "POST", "/api/v1/invitations/", {"role": "member"}).json()
    assert browser.post(f"{PAGE}invitations/{made['id']}/revoke/")["Location"] == PAGE
    assert opened(made["link"]).get(JOIN).status_code == 410
    assert browser.post(f"{PAGE}invitations/{tenant.id}/revoke/").status_code == 404
