"""What owners say of their tenant's providers. Within the tenant's scope."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from gateway.sign_on import discovery
from gateway.sign_on.claims import LONGEST_VALUE, MOST_ROLES
from gateway.sign_on.errors import DomainTaken, InvalidProvider, NoSuchProvider
from services.oauth import exchange
from services.oauth.errors import OAuthFailed
from tenants.models import ConfirmedDomain, Role, SignOnIdentity, SignOnProvider, User
from tenants.people import recorded
from tenants.people.changes import record
from tenants.people.encryption import encrypt
from tenants.people.principal import Principal

FLAGS = ("creates_members", "readmits_members", "trusts_addresses", "enabled")
_TEXTS = {"issuer": 500, "client_id": 500, "role_claim": 200}
_LONGEST_SECRET = 2000
MOST_NAMED = 20
_DOMAIN = re.compile(r"(?=.{4,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])\Z")
UNCONFIRMED = (
    "The operator has not confirmed yet that the domain is yours, so nobody logs in by it: "
    "manage.py confirm_domain, or /admin/tenants/confirmeddomain/."
)


def of_tenant(principal: Principal) -> QuerySet[SignOnProvider]:
    """The tenant's providers."""
    return SignOnProvider.objects.filter(tenant_id=principal.tenant_id).order_by("domain")


def get(principal: Principal, id: uuid.UUID) -> SignOnProvider:
    """One of them. Raises NoSuchProvider."""
    found = of_tenant(principal).filter(pk=id).first()
    if found is None:
        raise NoSuchProvider
    return found


def confirmed(principal: Principal) -> set[str]:
    """The domains that the operator has confirmed to be the tenant's."""
    found = ConfirmedDomain.objects.filter(tenant_id=principal.tenant_id)
    return set(found.values_list("domain", flat=True))


def create(principal: Principal, given: Mapping[str, Any]) -> SignOnProvider:
    """A new provider; its domain counts once the operator has confirmed it. Raises InvalidProvider, DomainTaken."""
    row = SignOnProvider(tenant_id=principal.tenant_id, domain=domain(given.get("domain")))
    _read(row, given)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise DomainTaken(row.domain) from None
    record(None, recorded.SIGN_ON.of(row))
    return row


def change(row: SignOnProvider, given: Mapping[str, Any]) -> SignOnProvider:
    """Change what is named, of a provider that was just read. Raises InvalidProvider."""
    row = SignOnProvider.objects.select_for_update().get(pk=row.pk)
    if "domain" in given and domain(given["domain"]) != row.domain:
        raise InvalidProvider(
            "The domain of a provider never changes. Add another provider, and remove this one.", "domain"
        )
    before = recorded.SIGN_ON.of(row)
    was = (row.issuer, row.client_id)
    _read(row, given)
    if (row.issuer, row.client_id) != was and row.client_secret and "client_secret" not in given:
        # It would be sent to whoever the new issuer is.
        raise InvalidProvider("Another issuer or client_id needs its own client_secret.", "client_secret")
    row.save()
    record(before, recorded.SIGN_ON.of(row))
    return row


@dataclass(frozen=True, slots=True)
class Consequences:
    """What removing a provider comes to: how many members log in by it, and the usernames of those who have no
    password, `more` of whom are not named. `others` are domains whose providers go on for the same people."""

    members: int
    without_password: list[str]
    more: int
    others: list[str]


def consequences(row: SignOnProvider) -> Consequences:
    """What removing it would come to now, within the tenant's scope."""
    known = SignOnIdentity.objects.filter(tenant_id=row.tenant_id, issuer=row.issuer).values("user_id")
    members = User.objects.filter(pk__in=known, memberships__tenant_id=row.tenant_id)
    # A password that begins with ! is none.
    without = members.filter(password__startswith="!").order_by("username").values_list("username", flat=True)
    named = list(without[:MOST_NAMED])
    others = SignOnProvider.objects.filter(tenant_id=row.tenant_id, issuer=row.issuer, enabled=True).exclude(pk=row.pk)
    return Consequences(
        members.count(), named, without.count() - len(named), list(others.values_list("domain", flat=True))
    )


def remove(row: SignOnProvider) -> None:
    """Nobody logs in by it any more; people stay members, and identities are kept for a provider with that issuer."""
    before = recorded.SIGN_ON.of(row)
    row.delete()
    record(before, None)


def domain(given: Any) -> str:
    """A domain as it is compared. Raises InvalidProvider."""
    text = given.strip().lower().rstrip(".") if isinstance(given, str) else ""
    try:
        text = text.encode("idna").decode()
    except UnicodeError:
        text = ""
    if not _DOMAIN.match(text):
        raise InvalidProvider("A domain looks like example.com.", "domain")
    return text


async def test(issuer: str) -> list[tuple[str, bool, str]]:
    """What a look at the provider shows: (what, whether it is right, words)."""
    try:
        found = await discovery.provider(issuer)
    except OAuthFailed as failed:
        return [("metadata", False, str(failed))]
    shown = [("metadata", True, "The provider answers, and is the issuer that you named.")]
    try:
        keys = await discovery.keys(found)
    except OAuthFailed as failed:
        return [*shown, ("keys", False, str(failed))]
    words = f"It publishes {len(keys)} key{'s' if len(keys) != 1 else ''}." if keys else "It publishes no key."
    return [*shown, ("keys", bool(keys), words)]


def _read(row: SignOnProvider, given: Mapping[str, Any]) -> None:
    """Take over what is named. Raises InvalidProvider."""
    for name, longest in _TEXTS.items():
        if name in given:
            setattr(row, name, _text(given[name], name, longest))
    for name in ("issuer", "client_id"):
        if not getattr(row, name):
            raise InvalidProvider("This is needed.", name)
    if "issuer" in given:
        try:
            exchange.endpoint(row.issuer, "The issuer")
        except OAuthFailed as failed:
            raise InvalidProvider(str(failed), "issuer") from None
    if "client_secret" in given:
        secret = _text(given["client_secret"], "client_secret", _LONGEST_SECRET)
        row.client_secret = encrypt(secret) if secret else ""
    for name in FLAGS:
        if name in given:
            if not isinstance(given[name], bool):
                raise InvalidProvider("This is true or false.", name)
            setattr(row, name, given[name])
    if "default_role" in given:
        role = given["default_role"]
        if role not in (None, "", *Role.values):
            raise InvalidProvider(f"A role is one of {', '.join(Role.values)}.", "default_role")
        row.default_role = role or ""
    if "roles" in given:
        row.roles = _roles(given["roles"])
    if row.roles and not row.role_claim:
        raise InvalidProvider("Roles need the name of the claim that says them.", "role_claim")


def _text(value: Any, name: str, longest: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        raise InvalidProvider(f"This is one line of at most {longest} characters.", name)
    return value.strip()


def _roles(given: Any) -> list[dict[str, str]]:
    if not isinstance(given, list) or len(given) > MOST_ROLES:
        raise InvalidProvider(f"This is a list of at most {MOST_ROLES} values with their roles.", "roles")
    read = []
    for each in given:
        value, role = (
            (each.get("value"), each.get("role")) if isinstance(each, dict) and len(each) == 2 else (None, None)
        )
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST_VALUE or not value.isprintable():
            raise InvalidProvider('Each is {"value": …, "role": …}, with a value of one line.', "roles")
        if role not in Role.values:
            raise InvalidProvider(f"A role is one of {', '.join(Role.values)}.", "roles")
        read.append({"value": value, "role": role})
    return read
