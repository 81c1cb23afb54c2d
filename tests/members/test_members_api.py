"""Members over REST: roles, removing, and the last owner."""

import json
import threading
from typing import Any

import pytest
from allauth.idp.oidc.models import Client as OAuthClient
from django.db import connections
from django.test import Client

from tenants.login import visits
from tenants.members import memberships
from tenants.members.errors import NotAnOwnerNow
from tenants.models import ClientGrant, Membership, User
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.people import Cast, Person

PATH = "/api/v1/members/"


def ask(who: Person, method: str, path: str = PATH, body: Any = None) -> Any:
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    return client.generic(method, path, "" if body is None else json.dumps(body), content_type="application/json")


def of(person: Person) -> str:
    return f"{PATH}{person.principal.user_id}/"


def roles(tenant: Cast) -> dict[str, str]:
    found = rows(
        "SELECT u.username, m.role FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = %(t)s",
        t=tenant.id,
    )
    return {row["username"].partition("-")[0]: row["role"] for row in found}


def second_owner(tenant: Cast) -> Person:
    assert ask(tenant.olga, "PATCH", of(tenant.carol), {"role": "owner"}).status_code == 200
    return tenant.carol


def changes(tenant: Cast) -> list[tuple[str, str, Any]]:
    found = rows(
        "SELECT action, target_id::text AS id, changes FROM setting_changes"
        " WHERE tenant_id = %(t)s AND target = 'member' ORDER BY id",
        t=tenant.id,
    )
    return [(row["action"], row["id"], row["changes"]) for row in found]


def test_an_owner_sees_all_members_and_others_themselves(tenant: Cast) -> None:
    listed = ask(tenant.olga, "GET").json()["results"]
    assert {each["user"]["username"].partition("-")[0]: each["role"] for each in listed} == roles(tenant)
    assert set(listed[0]) == {"user", "email", "role", "is_active", "last_seen_at", "created_at"}
    for person in (tenant.alice, tenant.carol, tenant.dana):
        [own] = ask(person, "GET").json()["results"]
        assert own["user"]["username"] == person.username
        assert ask(person, "GET", of(tenant.olga)).status_code == 404
        assert ask(person, "GET", of(person)).json() == own


def test_whoever_used_a_key_was_here(tenant: Cast) -> None:
    assert ask(tenant.alice, "GET", "/api/v1/tools/").status_code == 200
    seen = {each["user"]["username"]: each["last_seen_at"] for each in ask(tenant.olga, "GET").json()["results"]}
    assert seen[tenant.alice.username] is not None
    assert seen[tenant.bob.username] is None


def test_whoever_opened_a_page_was_here_and_has_the_same_rights(tenant: Cast) -> None:
    before = rows("SELECT version FROM rights_versions WHERE tenant_id = %(t)s", t=tenant.id)
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.bob)
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id).update(last_seen_at=None)
    visits._noted.clear()
    assert client.get("/settings/").status_code == 200
    [row] = rows("SELECT last_seen_at FROM memberships WHERE user_id = %(u)s", u=tenant.bob.principal.user_id)
    assert row["last_seen_at"] is not None
    assert rows("SELECT version FROM rights_versions WHERE tenant_id = %(t)s", t=tenant.id) == before


def test_a_new_role_holds_for_the_next_request_and_is_on_record(tenant: Cast) -> None:
    assert ask(tenant.alice, "GET", "/api/v1/approvals/").status_code == 403
    answer = ask(tenant.olga, "PATCH", of(tenant.alice), {"role": "approver"})
    assert (answer.status_code, answer.json()["role"]) == (200, "approver")
    assert ask(tenant.alice, "GET", "/api/v1/approvals/").status_code == 200
    assert changes(tenant) == [("changed", str(tenant.alice.principal.user_id), {"role": ["member", "approver"]})]
    # The same once more is no change.
    assert ask(tenant.olga, "PATCH", of(tenant.alice), {"role": "approver"}).status_code == 200
    assert len(changes(tenant)) == 1


@pytest.mark.parametrize("body", [{}, {"role": "superuser"}, {"role": None}, {"role": ["owner"]}, [], "owner"])
def test_a_role_that_does_not_exist_is_refused(tenant: Cast, body: Any) -> None:
    before = roles(tenant)
    assert ask(tenant.olga, "PATCH", of(tenant.alice), body).status_code == 400
    assert (roles(tenant), changes(tenant)) == (before, [])


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_only_owners_change_members_and_only_of_their_tenant(tenant: Cast, other_tenant: Cast, method: str) -> None:
    before = roles(tenant)
    for person in (tenant.alice, tenant.carol, tenant.dana):
        answer = ask(person, method, of(tenant.bob), {"role": "owner"})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    answer = ask(other_tenant.olga, method, of(tenant.bob), {"role": "owner"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (roles(tenant), changes(tenant)) == (before, [])


def test_the_last_owner_stays_one(tenant: Cast) -> None:
    for method in ("PATCH", "DELETE"):
        answer = ask(tenant.olga, method, of(tenant.olga), {"role": "member"})
        assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")
    assert (roles(tenant)["olga"], changes(tenant)) == ("owner", [])


def test_an_owner_whose_account_is_closed_is_no_owner_who_could_stay(tenant: Cast) -> None:
    carol = second_owner(tenant)
    with on_login("operator"):
        User.objects.filter(pk=carol.principal.user_id).update(is_active=False)
    assert ask(tenant.olga, "DELETE", of(tenant.olga)).json()["code"] == "last_owner"
    assert ask(tenant.olga, "DELETE", of(carol)).status_code == 204


def test_of_two_owners_who_remove_each_other_at_once_one_stays(tenant: Cast) -> None:
    carol = second_owner(tenant)
    barrier, answers = threading.Barrier(2), {}

    def remove(who: Person, whom: Person) -> None:
        try:
            barrier.wait()
            answer = ask(who, "DELETE", of(whom))
            answers[who.username.partition("-")[0]] = (answer.status_code, answer.content.decode())
        finally:
            connections.close_all()

    pair = [(tenant.olga, carol), (carol, tenant.olga)]
    threads = [threading.Thread(target=remove, args=each) for each in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers.values())[0] == 204
    [lost] = [status for status, _ in answers.values() if status != 204]
    # Too late to be an owner, or to be anybody here at all.
    assert lost in (401, 403)
    assert sorted(role for role in roles(tenant).values() if role == "owner") == ["owner"]


def test_removing_ends_keys_sessions_and_applications_at_once(tenant: Cast) -> None:
    user_id = tenant.alice.principal.user_id
    browser = Client()
    browser.cookies["sessionid"] = session_of(tenant.alice)
    assert browser.get("/settings/").status_code == 200
    with on_login("operator"):
        client = OAuthClient.objects.create(id=f"c-{tenant.slug}", name="App")
    with transactions.scope(tenant.id, user_id):
        ClientGrant.objects.create(
            tenant_id=tenant.id, user_id=user_id, client_id=client.pk, scopes=["chat"], resource="http://x/mcp"
        )
    assert ask(tenant.olga, "DELETE", of(tenant.alice)).status_code == 204
    assert ask(tenant.alice, "GET", "/api/v1/tools/").status_code == 401
    assert browser.get("/settings/").status_code == 403
    assert ask(tenant.olga, "GET", of(tenant.alice)).status_code == 404
    for table in ("api_keys", "client_grants", "memberships"):
        assert rows(f"SELECT 1 FROM {table} WHERE user_id = %(u)s", u=user_id) == []
    assert changes(tenant) == [("deleted", str(user_id), {"role": ["member", None], "active": [True, None]})]
    # The account stays, and what it is in other tenants.
    assert len(rows("SELECT 1 FROM users WHERE id = %(u)s", u=user_id)) == 1


def test_a_member_of_two_tenants_is_removed_from_one(tenant: Cast, other_tenant: Cast) -> None:
    with on_login("operator"):
        Membership.objects.create(tenant_id=other_tenant.id, user_id=tenant.alice.principal.user_id, role="member")
    assert ask(other_tenant.olga, "DELETE", of(tenant.alice)).status_code == 204
    assert ask(tenant.alice, "GET", "/api/v1/tools/").status_code == 200


def test_a_session_that_is_old_is_asked_again_before_it_raises_a_role(tenant: Cast) -> None:
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.olga, seconds_ago=3600)

    def patch(role: str) -> Any:
        return client.generic("PATCH", of(tenant.carol), json.dumps({"role": role}), content_type="application/json")

    answer = patch("owner")
    assert (answer.status_code, answer.json()["code"]) == (403, "reauthentication_required")
    assert roles(tenant)["carol"] == "approver"
    # Taking away never waits for a password.
    assert patch("member").status_code == 200


def test_the_database_lets_the_app_change_members_of_an_owners_tenant_only(tenant: Cast, other_tenant: Cast) -> None:
    for acting, of_tenant in ((tenant.alice, tenant), (tenant.olga, other_tenant), (other_tenant.olga, tenant)):
        with (
            pytest.raises(NotAnOwnerNow),
            transactions.scope(acting.principal.tenant_id, acting.principal.user_id),
        ):
            memberships.change_role(of_tenant.id, of_tenant.bob.principal.user_id, "owner")
    assert roles(tenant)["bob"] == roles(other_tenant)["bob"] == "member"
