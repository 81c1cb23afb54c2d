"""Invitations: made over REST, accepted on the page, once."""

import ipaddress
import re
import threading
import uuid
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections
from django.db.utils import ProgrammingError
from django.test import Client

from tenants.members import invitations
from tenants.members.invitations import LONGEST_TOKEN
from tenants.models import Invitation, Membership, User
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.members.test_members_api import ask, roles
from tests.people import Cast, Person

PATH = "/api/v1/invitations/"
JOIN = "/accounts/invitation/"
PASSWORD = "a horse of another colour"
ENDED = "This invitation does not work any more"


def invited(tenant: Cast, **body: Any) -> dict[str, Any]:
    answer = ask(tenant.olga, "POST", PATH, {"role": "member"} | body)
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def opened(link: str, person: Person | None = None) -> Client:
    """A browser that has followed a link, at an address of its own."""
    client = Client(REMOTE_ADDR=str(ipaddress.IPv4Address(uuid.uuid4().int % 2**32)))
    if person is not None:
        client.cookies["sessionid"] = session_of(person)
    path = re.sub(r"^https?://[^/]+", "", link)
    answer = client.get(path)
    assert (answer.status_code, answer["Location"]) == (302, JOIN)
    return client


def name() -> str:
    return f"new-{uuid.uuid4().hex[:10]}"


def join(client: Client, username: str, password: str = PASSWORD) -> Any:
    return client.post(JOIN, {"username": username, "password": password, "again": password})


def role_of(tenant: Cast, username: str) -> str | None:
    found = rows(
        "SELECT m.role FROM memberships m JOIN users u ON u.id = m.user_id"
        " WHERE m.tenant_id = %(t)s AND u.username = %(u)s",
        t=tenant.id, u=username,
    )  # fmt: skip
    return found[0]["role"] if found else None


def give_address(person: Person, email: str) -> None:
    with on_login("operator"):
        User.objects.filter(pk=person.principal.user_id).update(email=email)


def set_past(made: dict[str, Any]) -> None:
    with on_login("operator"):
        Invitation.objects.filter(pk=made["id"]).update(expires_at="2020-01-01T00:00:00Z")


def test_a_link_is_shown_once_and_only_its_hash_is_stored(tenant: Cast) -> None:
    made = invited(tenant, role="approver", email="new@example.com", days=2)
    token = made["link"].rstrip("/").rpartition("/")[2]
    assert (made["role"], made["email"], made["created_by"]["username"]) == (
        "approver", "new@example.com", tenant.olga.username,
    )  # fmt: skip
    [listed] = ask(tenant.olga, "GET", PATH).json()["results"]
    assert listed == {key: value for key, value in made.items() if key != "link"}
    [row] = rows("SELECT i::text AS whole FROM invitations i WHERE tenant_id = %(t)s", t=tenant.id)
    assert token not in row["whole"]
    said = rows("SELECT c::text AS whole FROM setting_changes c WHERE tenant_id = %(t)s", t=tenant.id)
    assert token not in str(said) and "new@example.com" not in str(said)


def test_a_new_person_joins_with_a_name_and_a_password_of_their_own(tenant: Cast) -> None:
    username = name()
    # Of this test alone: an account has an address once in a database, in whatever case.
    local = f"New-{username}"
    made = invited(tenant, role="approver", email=f"{local}@Example.com")
    client = opened(made["link"])
    page = client.get(JOIN).content.decode()
    assert tenant.olga.username in page and f"{local}@example.com" in page and "approver" in page
    answer = join(client, username)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert role_of(tenant, username) == "approver"
    # They are logged in, in this tenant.
    assert tenant.slug in client.get("/settings/keys/").content.decode()
    [account] = rows("SELECT email, is_superuser, is_staff, is_active FROM users WHERE username = %(u)s", u=username)
    assert account == {"email": f"{local}@example.com", "is_superuser": False, "is_staff": False, "is_active": True}
    fresh = Client()
    assert fresh.login(username=username, password=PASSWORD)
    recorded = rows(
        "SELECT target, action, changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id
    )
    assert [(row["target"], row["action"]) for row in recorded] == [
        ("invitation", "created"), ("member", "created"), ("invitation", "changed"),
    ]  # fmt: skip
    assert username not in str(recorded) and "example.com" not in str(recorded)
    assert ask(tenant.olga, "GET", PATH).json()["results"] == []


def test_who_is_logged_in_joins_with_their_account(tenant: Cast, other_tenant: Cast) -> None:
    client = opened(invited(tenant, role="auditor")["link"], other_tenant.alice)
    assert f"Join as {other_tenant.alice.username}" in client.get(JOIN).content.decode()
    assert client.post(JOIN)["Location"] == "/"
    assert role_of(tenant, other_tenant.alice.username) == "auditor"
    assert role_of(other_tenant, other_tenant.alice.username) == "member"
    # The session is in the new tenant now.
    assert tenant.slug in client.get("/settings/keys/").content.decode()


def test_an_invitation_works_once(tenant: Cast, other_tenant: Cast) -> None:
    link = invited(tenant)["link"]
    first, second = opened(link, other_tenant.alice), opened(link, other_tenant.bob)
    assert first.post(JOIN).status_code == 302
    answer = second.post(JOIN)
    assert (answer.status_code, ENDED in answer.content.decode()) == (410, True)
    assert role_of(tenant, other_tenant.bob.username) is None
    assert opened(link).get(JOIN).status_code == 410


def test_of_two_who_accept_it_at_once_one_joins(tenant: Cast, other_tenant: Cast) -> None:
    token = invited(tenant)["link"].rstrip("/").rpartition("/")[2]
    barrier, joined = threading.Barrier(2), []

    def accept(person: Person) -> None:
        try:
            barrier.wait()
            invitations.accept(token, person.principal.user_id)
            joined.append(person.username)
        except invitations.InvitationEnded:
            pass
        finally:
            connections.close_all()

    people = (other_tenant.alice, other_tenant.bob)
    threads = [threading.Thread(target=accept, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(joined) == 1
    assert [person.username for person in people if role_of(tenant, person.username)] == joined


def test_one_that_expired_was_revoked_or_never_was_does_not_work(tenant: Cast, other_tenant: Cast) -> None:
    expired, revoked = invited(tenant), invited(tenant)
    set_past(expired)
    assert ask(tenant.olga, "DELETE", f"{PATH}{revoked['id']}/").status_code == 204
    for link in (expired["link"], revoked["link"], f"http://x{JOIN}nothing/", f"http://x{JOIN}{'a' * LONGEST_TOKEN}/"):
        client = opened(link, other_tenant.alice)
        for answer in (client.get(JOIN), client.post(JOIN)):
            assert (answer.status_code, ENDED in answer.content.decode()) == (410, True)
    assert role_of(tenant, other_tenant.alice.username) is None
    assert Client().get(JOIN).status_code == 410
    # Revoking it once more is nothing new.
    assert ask(tenant.olga, "DELETE", f"{PATH}{revoked['id']}/").status_code == 204


def test_one_whose_maker_is_no_owner_any_more_does_not_work(tenant: Cast, other_tenant: Cast) -> None:
    assert (
        ask(tenant.olga, "PATCH", f"/api/v1/members/{tenant.carol.principal.user_id}/", {"role": "owner"}).status_code
        == 200
    )
    made = ask(tenant.carol, "POST", PATH, {"role": "owner"}).json()
    client = opened(made["link"], other_tenant.alice)
    assert ask(tenant.olga, "DELETE", f"/api/v1/members/{tenant.carol.principal.user_id}/").status_code == 204
    assert client.post(JOIN).status_code == 410
    assert role_of(tenant, other_tenant.alice.username) is None
    assert ask(tenant.olga, "GET", PATH).json()["results"] == []


def test_one_that_was_forwarded_to_another_account_is_refused(tenant: Cast, other_tenant: Cast) -> None:
    give_address(other_tenant.alice, "alice@example.com")
    made = invited(tenant, email="bob@example.com")
    client = opened(made["link"], other_tenant.alice)
    answer = client.post(JOIN)
    assert answer.status_code == 403
    assert "for another e-mail address" in answer.content.decode()
    assert role_of(tenant, other_tenant.alice.username) is None
    give_address(other_tenant.bob, "Bob@EXAMPLE.com")
    assert opened(made["link"], other_tenant.bob).post(JOIN).status_code == 302


def test_an_account_that_has_the_address_is_not_made_twice(tenant: Cast, other_tenant: Cast) -> None:
    give_address(other_tenant.alice, f"a@{tenant.slug}.example")
    made, username = invited(tenant, email=f"A@{tenant.slug}.EXAMPLE"), name()
    answer = join(opened(made["link"]), username)
    assert answer.status_code == 409
    assert "Log in with it" in answer.content.decode()
    assert rows("SELECT 1 FROM users WHERE username = %(u)s", u=username) == []
    assert opened(made["link"], other_tenant.alice).post(JOIN).status_code == 302


def test_a_name_that_only_differs_in_case_or_form_is_taken(tenant: Cast) -> None:
    client = opened(invited(tenant)["link"])
    for taken in (tenant.alice.username, tenant.alice.username.upper(), tenant.alice.username.replace("a", "ａ", 1)):
        answer = join(client, taken)
        assert (answer.status_code, "This name is taken" in answer.content.decode()) == (409, True)
    # Nothing is lost: the same link still works.
    assert join(client, name()).status_code == 302


@pytest.mark.parametrize(
    ("username", "password", "again"),
    [
        ("", PASSWORD, PASSWORD),
        ("x" * 5000, PASSWORD, PASSWORD),
        ("new\x00one", PASSWORD, PASSWORD),
        ("two words", PASSWORD, PASSWORD),
        ("new\u202eone", PASSWORD, PASSWORD),
        ("someone", "12345678", "12345678"),
        ("someone", "short", "short"),
        ("someone", "", ""),
        ("someone", PASSWORD, PASSWORD + "!"),
        ("someone", "p" * 5000, "p" * 5000),
    ],
    ids=range(10),
)
def test_a_name_or_password_against_the_rules_is_said_and_makes_nothing(
    tenant: Cast, username: str, password: str, again: str
) -> None:
    client, before = opened(invited(tenant)["link"]), roles(tenant)
    answer = client.post(JOIN, {"username": username, "password": password, "again": again})
    assert answer.status_code == 400
    assert 'name="username"' in answer.content.decode()
    assert roles(tenant) == before
    assert len(rows("SELECT 1 FROM invitations WHERE tenant_id = %(t)s AND accepted_at IS NULL", t=tenant.id)) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"role": "superuser"}, 400),
        ({"role": "member", "email": "no address"}, 400),
        ({"role": "member", "email": "a@b"}, 400),
        ({"role": "member", "email": f"{'x' * 300}@example.com"}, 400),
        ({"role": "member", "email": "ａ@example.com"}, 400),
        ({"role": "member", "email": "a@ｅxample.com"}, 400),
        ({"role": "member", "email": "a@example.com\nbcc: b@example.com"}, 400),
        ({"role": "member", "email": "a\u0000@example.com"}, 400),
        ({"role": "member", "days": 0}, 400),
        ({"role": "member", "days": 10**30}, 400),
    ],
    ids=range(11),
)
def test_an_invitation_that_makes_no_sense_is_refused(tenant: Cast, body: Any, status: int) -> None:
    answer = ask(tenant.olga, "POST", PATH, body)
    assert (answer.status_code, answer.json()["code"]) == (status, "invalid_request")
    assert rows("SELECT 1 FROM invitations WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_member_is_not_invited_again_and_stays_what_they_are(tenant: Cast) -> None:
    give_address(tenant.alice, "alice@example.com")
    answer = ask(tenant.olga, "POST", PATH, {"role": "owner", "email": "ALICE@example.com"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_member")
    made = invited(tenant, role="owner")
    answer = opened(made["link"], tenant.alice).post(JOIN)
    assert (answer.status_code, "a member already" in answer.content.decode()) == (409, True)
    assert roles(tenant)["alice"] == "member"
    # The link is for somebody else, and still good.
    assert len(ask(tenant.olga, "GET", PATH).json()["results"]) == 1


def test_attempts_from_one_address_are_counted(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    # A day is a window that no slow machine lets end within the test.
    monkeypatch.setattr(settings, "LOGIN_ATTEMPTS", "2/d")
    client = opened(invited(tenant)["link"])
    assert [join(client, "two words").status_code for _ in range(2)] == [400, 400]
    answer = join(client, name())
    assert (answer.status_code, answer["Retry-After"].isdigit()) == (429, True)
    assert len(roles(tenant)) == 5


def test_only_owners_invite_and_see_invitations(tenant: Cast, other_tenant: Cast) -> None:
    made = invited(tenant)
    for person in (tenant.alice, tenant.carol, tenant.dana):
        for method, path in (("GET", PATH), ("POST", PATH), ("DELETE", f"{PATH}{made['id']}/")):
            answer = ask(person, method, path, {"role": "member"})
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert ask(other_tenant.olga, "GET", PATH).json()["results"] == []
    assert ask(other_tenant.olga, "DELETE", f"{PATH}{made['id']}/").status_code == 404
    assert len(ask(tenant.olga, "GET", PATH).json()["results"]) == 1


def test_a_tenant_makes_so_many_invitations_a_day(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MOST", 2)
    invited(tenant)
    invited(tenant)
    answer = ask(tenant.olga, "POST", PATH, {"role": "member"})
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_invitations")
    assert len(ask(tenant.olga, "GET", PATH).json()["results"]) == 2


def test_an_operators_invitation_needs_no_owner(tenant: Cast, other_tenant: Cast) -> None:
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id).delete()
        _, link = invitations.make(tenant.id, None, role="owner")
    client = opened(link, other_tenant.alice)
    assert "The operator of this Toolgate invites you as owner" in client.get(JOIN).content.decode()
    assert client.post(JOIN).status_code == 302
    assert role_of(tenant, other_tenant.alice.username) == "owner"


def test_the_app_cannot_accept_an_invitation_by_writing_its_row(tenant: Cast) -> None:
    made = invited(tenant)
    for column in ("accepted_at = NULL", "expires_at = now()", "role = 'owner'", "created_by_id = NULL"):
        with pytest.raises(ProgrammingError), transactions.scope(*tenant.olga.scope), connection.cursor() as cursor:
            cursor.execute(f"UPDATE invitations SET {column} WHERE id = %s", [made["id"]])
