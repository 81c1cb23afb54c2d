"""What locks guarantee: of two that change something at once, the second decides by what the first has left."""

import asyncio
import hashlib
import os
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection

from gateway.runs.agents import changes as agents
from gateway.runs.errors import AgentChanged
from notifications.destinations import changes as destinations
from notifications.destinations import verifying
from tenants.login import clients, sign_on
from tenants.login.sign_on import Admitted, Person
from tenants.members import invitations, memberships
from tenants.members.errors import AccountExists, NotAnOwnerNow, TooManyInvitations
from tenants.models import ClientToken, ConfirmedDomain, SignOnProvider
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests import people
from tests.at_once import both, in_turn
from tests.database import rows
from tests.files.working import conversation_of
from tests.inbox.messages import make
from tests.mcp.oauth import registered
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS

ISSUER = "https://login.example"


def _roles(tenant: Cast) -> list[str]:
    return [row["role"] for row in rows("SELECT role FROM memberships WHERE tenant_id = %(t)s", t=tenant.id)]


def _make_owner(person: people.Person) -> None:
    query = "UPDATE memberships SET role = 'owner' WHERE user_id = %(u)s RETURNING id"
    rows(query, u=person.principal.user_id)


def _asked(person: people.Person, call: str, values: list[Any]) -> Callable[[], tuple[Any, ...]]:
    """The row that a SQL function answers, called by the app within the person's scope."""

    def ask() -> tuple[Any, ...]:
        with (
            transactions.scope(person.principal.tenant_id, person.principal.user_id),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"SELECT * FROM {call}({', '.join(['%s'] * len(values))})", values)
            row: tuple[Any, ...] = cursor.fetchone()
            return row

    return ask


# --- members ---------------------------------------------------------------------------------------------------------
def test_who_is_just_being_removed_by_another_owner_removes_nobody(tenant: Cast) -> None:
    _make_owner(tenant.carol)

    def remove(who: people.Person, whom: people.Person) -> None:
        with transactions.scope(tenant.id, who.principal.user_id):
            memberships.remove(tenant.id, whom.principal.user_id)

    _, second = both(lambda: remove(tenant.olga, tenant.carol), lambda: remove(tenant.carol, tenant.olga))
    with pytest.raises(NotAnOwnerNow):
        second.result()
    assert _roles(tenant).count("owner") == 1


def _provider(tenant: Cast) -> SignOnProvider:
    domain = f"{uuid.uuid4().hex[:12]}.example"
    with on_login("operator"):
        ConfirmedDomain.objects.create(domain=domain, tenant_id=tenant.id)
        return SignOnProvider.objects.create(
            tenant_id=tenant.id, domain=domain, issuer=ISSUER, client_id="toolgate", creates_members=True, enabled=True,
            default_role="member", role_claim="groups",
        )  # fmt: skip


def _identity(tenant: Cast, person: people.Person) -> Person:
    subject = uuid.uuid4().hex
    rows(
        "INSERT INTO sign_on_identities (id, tenant_id, user_id, issuer, subject, created_at)"
        " VALUES (gen_random_uuid(), %(t)s, %(u)s, %(i)s, %(s)s, now()) RETURNING id",
        t=tenant.id, u=person.principal.user_id, i=ISSUER, s=subject,
    )  # fmt: skip
    return Person(ISSUER, subject, "", person.username)


def test_log_ins_that_demote_the_last_two_owners_leave_one(tenant: Cast) -> None:
    _make_owner(tenant.carol)
    provider = _provider(tenant)
    olga, carol = _identity(tenant, tenant.olga), _identity(tenant, tenant.carol)
    first, second = both(
        lambda: sign_on.admit(provider, olga, "member"), lambda: sign_on.admit(provider, carol, "member")
    )
    assert (first.role, second.result().role) == ("member", "owner")
    assert _roles(tenant).count("owner") == 1


def test_somebody_new_who_logs_in_twice_at_once_is_one_person(tenant: Cast) -> None:
    provider = _provider(tenant)
    ada = Person(ISSUER, "ada", f"ada@{provider.domain}", f"ada@{provider.domain}")

    def admit() -> Admitted:
        return sign_on.admit(provider, ada, "member")

    first, second = both(admit, admit)
    assert (first.outcome, second.result().outcome) == ("joined", "in")
    assert second.result().user_id == first.user_id


def test_of_two_new_accounts_whose_names_differ_in_case_one_is_made(tenant: Cast) -> None:
    with transactions.scope(tenant.id, tenant.olga.principal.user_id):
        tokens = [
            invitations.make(tenant.id, tenant.olga.principal.user_id, role="member")[1].rstrip("/").rpartition("/")[2]
            for _ in range(2)
        ]
    name = f"ann-{uuid.uuid4().hex}"

    def join(token: str, username: str) -> Any:
        return invitations.join(token, username=username, password="a horse of another colour")

    _, second = both(lambda: join(tokens[0], name), lambda: join(tokens[1], name.upper()))
    with pytest.raises(AccountExists):
        second.result()
    assert len(_roles(tenant)) == 6


def test_an_invitation_that_is_made_at_once_with_the_last_is_one_too_many(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST", 1)

    def make() -> None:
        with transactions.scope(tenant.id, tenant.olga.principal.user_id):
            invitations.make(tenant.id, tenant.olga.principal.user_id, role="member")

    _, second = both(make, make)
    with pytest.raises(TooManyInvitations):
        second.result()


def test_an_edit_of_an_agent_that_another_is_just_changing_is_refused(tenant: Cast) -> None:
    [agent] = rows("SELECT slug, version FROM agents WHERE tenant_id = %(t)s AND is_default", t=tenant.id)

    def edit(name: str) -> str:
        with transactions.scope(tenant.id, tenant.olga.principal.user_id):
            return agents.change(tenant.id, agent["slug"], {"name": name}, agent["version"]).name

    first, second = both(lambda: edit("First"), lambda: edit("Second"))
    with pytest.raises(AgentChanged):
        second.result()
    assert rows("SELECT name FROM agents WHERE tenant_id = %(t)s AND is_default", t=tenant.id) == [{"name": first}]


# --- OAuth clients ---------------------------------------------------------------------------------------------------
def _granted(tenant: Cast, client_id: str) -> clients.Tokens:
    """What a client got from alice."""
    scopes, where = ["chat"], "http://127.0.0.1/mcp"
    code = clients.agree(tenant.alice.principal, client_id, scopes=scopes, resource=where, details={})
    spent = clients.spend(ClientToken.Kind.CODE, code, client_id)
    assert spent is not None
    return clients.issue(spent, scopes)


def _grants(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT id FROM client_grants WHERE tenant_id = %(t)s", t=tenant.id)


@pytest.mark.parametrize("way", ["by its client", "by its member", "by a second use"])
def test_a_grant_that_ends_while_a_token_is_used_twice_ends_once(tenant: Cast, way: str) -> None:
    client_id = registered().id
    token, [grant] = _granted(tenant, client_id).refresh, _grants(tenant)

    def use() -> bool:
        return clients.spend(ClientToken.Kind.REFRESH, token, client_id) is not None

    def end() -> bool:
        if way == "by its client":
            clients.revoke(token, client_id)
        if way == "by its member":
            with transactions.scope(tenant.id, tenant.alice.principal.user_id):
                clients.end(tenant.alice.principal, grant["id"])
        return way == "by a second use" and use()

    # Each of the two that wait would end the grant: none may have what the other needs.
    first, [second, third] = in_turn(use, use, end)
    assert (first, second.result(), third.result()) == (True, False, False)
    assert _grants(tenant) == []
    assert rows("SELECT kind FROM client_tokens WHERE tenant_id = %(t)s", t=tenant.id) == []


async def test_a_grant_that_is_used_or_ended_in_this_moment_is_forgotten_the_next_time(tenant: Cast) -> None:
    await asyncio.to_thread(lambda: _granted(tenant, registered().id))
    old = "UPDATE client_tokens SET expires_at = now() - interval '1 s' WHERE tenant_id = %(t)s RETURNING kind"
    tokens = len(rows(old, t=tenant.id))
    older = "UPDATE client_grants SET created_at = now() - interval '2 h' WHERE tenant_id = %(t)s RETURNING id"
    rows(older, t=tenant.id)
    left = "SELECT kind FROM client_tokens WHERE tenant_id = %(t)s"
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as other:
        other.execute("SELECT 1 FROM client_grants WHERE tenant_id = %s FOR UPDATE", [tenant.id])
        # The limit is for a sweep that waits: it would wait for ever.
        async with asyncio.timeout(PATIENCE_SECONDS):
            await clients.forget()
        assert len(rows(left, t=tenant.id)) == tokens
    await clients.forget()
    assert (rows(left, t=tenant.id), _grants(tenant)) == ([], [])


# --- what people keep -------------------------------------------------------------------------------------------------
def test_a_destination_that_is_just_being_removed_is_not_verified(tenant: Cast) -> None:
    principal, token = tenant.alice.principal, "a" * 43
    row = make(tenant.alice, "My mail", "email", "alice@example.com")
    asked = "UPDATE destinations SET token_hash = %(h)s, asked_at = now() WHERE id = %(id)s RETURNING id"
    rows(asked, h=hashlib.sha256(token.encode()).hexdigest(), id=row.id)

    def remove() -> None:
        with transactions.scope(tenant.id, principal.user_id):
            destinations.remove(principal, row.id)

    def confirm() -> Any:
        with transactions.scope(tenant.id, principal.user_id):
            return verifying.confirm(principal, token)

    _, second = both(remove, confirm)
    assert second.result() is None
    assert rows("SELECT verified_at FROM destinations WHERE id = %(id)s", id=row.id) == [{"verified_at": None}]


def test_a_memory_that_is_stored_at_once_with_the_last_is_one_too_many(tenant: Cast) -> None:
    def store() -> tuple[Any, ...]:
        values = [uuid.uuid4(), "Tea, no sugar.", [], "user", "", uuid.uuid4(), None, 1, 1]
        return _asked(tenant.alice, "store_memory", values)()

    first, second = both(store, store)
    assert (first, second.result()) == ((True,), (False,))


def test_a_version_that_another_is_just_replacing_is_not_replaced_twice(tenant: Cast) -> None:
    conversation = conversation_of(tenant.alice)

    def write(text: str, replaced: int) -> tuple[Any, ...]:
        most = 10**6
        values = [conversation, "plan.md", text.encode(), "text/markdown", True, None, replaced, [], most, most]
        return _asked(tenant.alice, "add_file_version", values)()

    assert write("One.", 0)[0] == "written"
    first, second = both(lambda: write("Two.", 1), lambda: write("Three.", 1))
    assert (first[0], second.result()[0]) == ("written", "changed")
    hashes = rows("SELECT hash FROM files WHERE conversation_id = %(c)s", c=conversation)
    assert [bytes(row["hash"]) for row in hashes] == [hashlib.sha256(b"Two.").digest()]
