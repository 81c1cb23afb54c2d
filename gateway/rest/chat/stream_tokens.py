"""Tokens that read one run's events for five minutes, for an `EventSource`, which cannot send a key.

A token is signed and nowhere stored. It names the run, its user and how they proved who they are: opening a stream asks
once more whether that key and that membership still stand.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core import signing
from django.db import connection as django_connection
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from tenants.errors import Refused
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions

LIFETIME = timedelta(minutes=5)
PARAMETER = "token"
SCOPE = "chat"
_SALT = "toolgate.stream-token"
_LONGEST = 1000
_STILL_A_MEMBER = """
    SELECT t.slug, u.username, m.role, k.scopes
    FROM memberships m
    JOIN users u ON u.id = m.user_id AND u.is_active
    JOIN tenants t ON t.id = m.tenant_id
    LEFT JOIN api_keys k ON k.id = %(key)s AND k.tenant_id = m.tenant_id AND k.user_id = m.user_id
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    WHERE m.tenant_id = %(tenant)s AND m.user_id = %(user)s AND (%(key)s::uuid IS NULL OR k.id IS NOT NULL)
"""


class StreamTokenExpired(Refused):
    """The token was good, and is too old."""

    status = 401
    code = "stream_token_expired"


def _signer() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=_SALT, sep=".")


def issue(principal: Principal, run_id: uuid.UUID) -> tuple[str, datetime]:
    """A token for the events of a run that is the principal's, and when it expires."""
    ids = [principal.tenant_id, principal.user_id, run_id, principal.key_id]
    token = _signer().sign_object([each.hex if each else None for each in ids])
    return token, datetime.now(UTC).replace(microsecond=0) + LIFETIME


class StreamTokenAuthentication(authentication.BaseAuthentication):
    """`?token=…`, on the one view that takes it."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """Raises AuthenticationFailed or StreamTokenExpired for a token that does not open this run's events."""
        token = request.query_params.get(PARAMETER)
        if token is None:
            return None
        run_id = request.parser_context["kwargs"].get("run_id")
        tenant_id, user_id, its_run, key_id = _opened(token)
        if its_run != run_id or tenant_id is None or user_id is None:
            raise exceptions.AuthenticationFailed("The stream token is of another run.")
        principal = _still_a_member(tenant_id, user_id, key_id)
        if principal is None:
            raise exceptions.AuthenticationFailed("The stream token's key or membership is no longer valid.")
        return principal, None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="toolgate"'


def _opened(token: str) -> list[uuid.UUID | None]:
    """The tenant, user, run and key that a token names."""
    try:
        ids: Any = _signer().unsign_object(token[:_LONGEST], max_age=LIFETIME)
    except signing.SignatureExpired:
        raise StreamTokenExpired("The stream token has expired. Ask for a new one.") from None
    except signing.BadSignature:
        raise exceptions.AuthenticationFailed("The stream token is not valid.") from None
    return [uuid.UUID(each) if each else None for each in ids]


def _still_a_member(tenant_id: uuid.UUID, user_id: uuid.UUID, key_id: uuid.UUID | None) -> Principal | None:
    named = {"tenant": tenant_id, "user": user_id, "key": key_id}
    with transactions.scope(tenant_id, user_id), django_connection.cursor() as cursor:
        cursor.execute(_STILL_A_MEMBER, named)
        found = cursor.fetchone()
    if found is None:
        return None
    slug, username, role, narrowed = found
    # Whatever the key may do, the token may read one stream.
    scopes = scopes_of(role, narrowed) & {SCOPE}
    return Principal(tenant_id, slug, user_id, username, role, scopes, key_id)
