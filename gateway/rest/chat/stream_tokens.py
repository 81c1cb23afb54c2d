"""Tokens that read one run's events for five minutes, for an `EventSource`, which cannot send a key.

A token is signed and nowhere stored. It names the run, its user and how they proved who they are: opening a stream asks
once more whether that key and that membership still stand.
"""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core import signing
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from tenants.errors import Refused
from tenants.login.authentication import once_more
from tenants.people.principal import Principal

LIFETIME = timedelta(minutes=5)
PARAMETER = "token"
SCOPE = "chat"
_SALT = "toolgate.stream-token"
_LONGEST = 1000


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
        principal = once_more(tenant_id, user_id, key_id)
        if principal is None:
            raise exceptions.AuthenticationFailed("The stream token's key or membership is no longer valid.")
        # Whatever the key may do, the token may read one stream.
        return replace(principal, scopes=principal.scopes & {SCOPE}), None

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
