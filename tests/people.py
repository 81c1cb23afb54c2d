"""The cast of the tests."""

import uuid
from dataclasses import dataclass

from django.db import transaction

from gateway.agents import create_tenant
from tenants import keys
from tenants.models import Membership, User
from tenants.principal import Principal, scopes_of
from tenants.routing import on_login
from tenants.scoping import Scope
from tools import ratelimit

CAST = {"alice": "member", "bob": "member", "carol": "approver", "dana": "auditor", "olga": "owner"}
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Person:
    """A member of a test's tenant."""

    username: str
    key: str
    principal: Principal

    @property
    def scope(self) -> Scope:
        """The walls that this person stands within."""
        return Scope(self.principal.tenant_id, self.principal.user_id)

    @property
    def headers(self) -> dict[str, str]:
        """What this person's client sends."""
        return {"Authorization": f"Bearer {self.key}"}


@dataclass(frozen=True)
class Cast:
    """A tenant and its people."""

    id: uuid.UUID
    slug: str
    alice: Person
    bob: Person
    carol: Person
    dana: Person
    olga: Person


def make_tenant(password: str | None = None) -> Cast:
    """A tenant nobody else has; usernames end in its slug. Without `password` nobody has one: hashing is slow."""
    slug = f"t{uuid.uuid4().hex[:12]}"
    people: dict[str, Person] = {}
    with on_login("operator"), transaction.atomic(using="operator"):
        tenant = create_tenant(slug=slug)
        for name, role in CAST.items():
            user = User(username=f"{name}-{slug}")
            if password:
                user.set_password(password)
            else:
                user.set_unusable_password()
            user.save()
            membership = Membership.objects.create(tenant=tenant, user=user, role=role)
            _, key = keys.create(membership=membership)
            principal = Principal(tenant.id, slug, user.id, user.username, role, scopes_of(role))
            people[name] = Person(user.username, key, principal)
    return Cast(tenant.id, slug, **people)


# Generous for any test that uses up a limit; a minute leaves room for as much again.
SECONDS_OF_A_TEST = 25


def make_unhurried_tenant() -> Cast:
    """A tenant whose users' windows end well after a test: where a window ends depends on tenant and user."""
    while True:
        cast = make_tenant()
        windows = (
            ratelimit.charge(tenant_id=cast.id, user_id=person.scope.user_id, tool="none", rate="1/m", count=False)
            for person in (cast.alice, cast.bob)
        )
        if all(window.reset > SECONDS_OF_A_TEST for window in windows):
            return cast
