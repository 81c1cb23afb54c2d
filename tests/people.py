"""The cast of the tests."""

import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django_ratelimit.core import get_usage

from audit.identifiers import uuid7
from gateway.models import Agent
from gateway.runs.agents.queries import create_tenant
from tenants.models import ApiKey, Membership, User
from tenants.people import changes, keys
from tenants.people.principal import Principal, scopes_of
from tenants.scope.routing import on_login
from tenants.scope.transactions import TenantScope

CAST = {"alice": "member", "bob": "member", "carol": "approver", "dana": "auditor", "olga": "owner"}
PASSWORD = "correct horse battery"
LONGEST_RUN_SECONDS = 3600


@dataclass(frozen=True)
class Person:
    """A member of a test's tenant."""

    username: str
    key: str
    principal: Principal

    @property
    def scope(self) -> TenantScope:
        """The tenant and user that this person's queries are limited to."""
        return TenantScope(self.principal.tenant_id, self.principal.user_id)

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


@contextmanager
def _unrecorded() -> Iterator[None]:
    """A test's tenant begins with an empty ledger."""
    writers = list(changes._writers)
    changes.register(lambda made: None)
    try:
        yield
    finally:
        changes._writers[:] = writers


def make_tenant(password: str | None = None, *, unhurried: bool = False) -> Cast:
    """A tenant nobody else has; usernames end in its slug. Without `password` nobody has one."""
    slug = f"t{uuid.uuid4().hex[:12]}"
    people: dict[str, Person] = {}
    with on_login("operator"), transaction.atomic(using="operator"), _unrecorded():
        tenant = create_tenant(slug=slug)
        # A busy machine ends no run for want of time, but where a test is about that.
        Agent.objects.filter(tenant=tenant).update(max_seconds=LONGEST_RUN_SECONDS)
        users = [User(id=_user_id(tenant.id, unhurried), username=f"{name}-{slug}") for name in CAST]
        for user in users:
            user.set_password(password)
        User.objects.bulk_create(users)
        joined = zip(users, CAST.values(), strict=True)
        members = [Membership(tenant=tenant, user=user, role=role) for user, role in joined]
        Membership.objects.bulk_create(members)
        made = [f"{keys.PREFIX}{secrets.token_urlsafe(32)}" for _ in members]
        # All at once: what makes them one by one takes half of this function's time, and nearly every test calls it.
        ApiKey.objects.bulk_create(
            ApiKey(tenant=tenant, user=user, prefix=key[:10], key_hash=keys.digest(key))
            for user, key in zip(users, made, strict=True)
        )
        for name, member, key in zip(CAST, members, made, strict=True):
            scopes = scopes_of(member.role)
            principal = Principal(tenant.id, slug, member.user_id, f"{name}-{slug}", member.role, scopes)
            people[name] = Person(principal.username, key, principal)
    return Cast(tenant.id, slug, **people)


# How long a limit's window still lasts when a test begins to use it up: nearly all of a minute.
SECONDS_OF_A_TEST = 55


def window_lasts(rate: str, value: str) -> bool:
    """Whether what is counted as `value` under `rate` ("30/m") has its window to itself for a whole test."""
    usage = get_usage(None, group="tests", key=lambda group, request: value, rate=rate, increment=False)
    return bool(usage and usage["time_left"] >= SECONDS_OF_A_TEST)


def make_unhurried_tenant() -> Cast:
    """A tenant whose users' limits begin to count anew now: where a window ends depends on tenant and user."""
    return make_tenant(unhurried=True)


def _user_id(tenant_id: uuid.UUID, unhurried: bool) -> uuid.UUID:
    while True:
        user_id = uuid7()
        if not unhurried or all(window_lasts(rate, f"{tenant_id}:{user_id}") for rate in ("1/m", "1/h", "1/d")):
            return user_id
