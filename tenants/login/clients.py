"""What OAuth clients have of their users: a grant that a member agreed to, and the tokens of it, stored as hashes.

A code and a refresh token work once. One that comes a second time may be stolen, so it ends its grant. A grant is of
one tenant, and ends with its user's membership; what its tokens reach is limited by the member's role as it is then.
"""

import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import connection as django_connection
from django.db.models import QuerySet
from django.utils import timezone

from tenants.models import ClientGrant, ClientToken
from tenants.people.keys import LONGEST, digest
from tenants.people.principal import Principal
from tenants.scope import jsonb, transactions

ACCESS, REFRESH, CODE = "tgo_", "tgr_", "tgc_"
CODE_LASTS = timedelta(minutes=1)
ACCESS_LASTS = timedelta(hours=1)
# Of a grant that nobody uses any more.
REFRESH_LASTS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Spent:
    """A code or refresh token that was just spent: whose it was, and what it allows."""

    grant_id: uuid.UUID
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    username: str
    scopes: list[str]
    resource: str
    details: dict[str, Any]


class Tokens(NamedTuple):
    """What a client gets; neither is stored."""

    access: str
    refresh: str


def agree(principal: Principal, client_id: str, *, scopes: list[str], resource: str, details: dict[str, Any]) -> str:
    """Grant a client what a member agreed to; the code that it gets tokens for, within CODE_LASTS."""
    code = CODE + secrets.token_urlsafe(32)
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id, "scopes": scopes}
    with transactions.scope(principal.tenant_id, principal.user_id):
        grant = ClientGrant.objects.create(**owner, client_id=client_id, resource=resource)
        _store(ClientToken.Kind.CODE, code, CODE_LASTS, grant_id=grant.id, details=details, **owner)
    return code


def spend(kind: ClientToken.Kind, token: str, client_id: str) -> Spent | None:
    """Spend a code or refresh token of a client; None when it is unknown, expired, spent, or another client's."""
    if len(token) > LONGEST:
        return None
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT * FROM spend_token(%s, %s, %s)", [digest(token), kind.value, client_id])
        row = cursor.fetchone()
    if row is None:
        return None
    grant_id, tenant_id, user_id, username, scopes, resource, details = row
    given = jsonb.loads(details) if isinstance(details, str) else details
    return Spent(grant_id, tenant_id, user_id, username, scopes, resource, given)


def issue(spent: Spent, scopes: list[str]) -> Tokens:
    """Store an access token for these scopes and a refresh token for all that was spent."""
    tokens = Tokens(ACCESS + secrets.token_urlsafe(32), REFRESH + secrets.token_urlsafe(32))
    owner = {"tenant_id": spent.tenant_id, "user_id": spent.user_id, "grant_id": spent.grant_id}
    with transactions.scope(spent.tenant_id, spent.user_id):
        _store(ClientToken.Kind.ACCESS, tokens.access, ACCESS_LASTS, scopes=scopes, **owner)
        _store(ClientToken.Kind.REFRESH, tokens.refresh, REFRESH_LASTS, scopes=spent.scopes, **owner)
    return tokens


def revoke(token: str, client_id: str) -> None:
    """End the grant of an access or refresh token; nothing happens when it is not the client's."""
    if len(token) <= LONGEST:
        with django_connection.cursor() as cursor:
            cursor.execute("SELECT revoke_token(%s, %s)", [digest(token), client_id])


async def forget() -> None:
    """Delete tokens that expired, and grants without any."""
    await transactions.fetch("SELECT forget_tokens()", login="system")


def _store(kind: ClientToken.Kind, token: str, lasts: timedelta, **columns: Any) -> None:
    ClientToken.objects.create(hash=digest(token), kind=kind, expires_at=timezone.now() + lasts, **columns)


def granted(principal: Principal) -> QuerySet[ClientGrant]:
    """What the caller granted clients in this tenant and still works, newest first. Within the tenant's scope."""
    working = ClientToken.objects.filter(spent_at=None, expires_at__gt=timezone.now()).exclude(
        kind=ClientToken.Kind.CODE
    )
    found = ClientGrant.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    found = found.filter(pk__in=working.values("grant_id")).select_related("client")
    return found.order_by("-created_at", "-id")


def end(principal: Principal, grant_id: uuid.UUID) -> str | None:
    """End one of the caller's grants; the client's name, or None when there is no such grant. Within the scope."""
    found = ClientGrant.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id, pk=grant_id)
    grant = found.select_related("client").first()
    if grant is None:
        return None
    name = grant.client.name
    grant.delete()
    return str(name)
