"""How a request authenticates: with a bearer key, an OAuth client's token, or Django's session.

All reads that come before a tenant is known go through SECURITY DEFINER functions, which answer about
one key, token or person only; the app's database role sees no users table outside a tenant.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.hashers import check_password, make_password
from django.db import connection as django_connection
from django.http import HttpRequest

from tenants.errors import Refused
from tenants.login import sessions, visits
from tenants.login.clients import ACCESS
from tenants.models import User
from tenants.people.keys import LONGEST, PREFIX, digest
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions

AUTHENTICATE = "SELECT * FROM authenticate_key(%s)"
RECORD_USE = "SELECT record_key_use(%s)"
_AUTHENTICATE_TOKEN = "SELECT * FROM authenticate_token(%s)"
_RECORD_GRANT_USE = "SELECT record_grant_use(%s)"
_ONCE_MORE = """
    SELECT t.slug, u.username, m.role, k.scopes
    FROM memberships m
    JOIN users u ON u.id = m.user_id AND u.is_active
    JOIN tenants t ON t.id = m.tenant_id
    LEFT JOIN api_keys k ON k.id = %(key)s AND k.tenant_id = m.tenant_id AND k.user_id = m.user_id
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    WHERE m.tenant_id = %(tenant)s AND m.user_id = %(user)s AND (%(key)s::uuid IS NULL OR k.id IS NOT NULL)
"""
# Last use is recorded to the minute, so that it costs no write for each request.
USE_RESOLUTION = timedelta(minutes=1)
TENANT_IN_SESSION = "tenant_id"
# The only tenant that a session opens whose user was identified by that tenant's provider.
SIGN_ON_IN_SESSION = "single_sign_on_tenant"
# When a code of the second factor was given in it.
SECOND_FACTOR_IN_SESSION = "second_factor_at"


class SecondFactorMissing(Refused):
    """The tenant asks for a second factor, and the session has none."""

    status = 403
    code = "second_factor_required"

    def __init__(self) -> None:
        super().__init__(
            f"This tenant asks for a second factor. Set one up, or give its code, at "
            f"{settings.PUBLIC_URL}/settings/second-factor/."
        )


def bearer(header: str) -> str | None:
    """The key in an `Authorization` header, or None when it has no bearer."""
    scheme, _, key = header.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _principal(row: dict[str, Any]) -> Principal:
    return Principal(
        tenant_id=row["tenant_id"],
        tenant_slug=row["tenant_slug"],
        user_id=row["user_id"],
        username=row["username"],
        role=row["role"],
        scopes=scopes_of(row["role"], row["scopes"]),
        key_id=row["key_id"],
        limits=tuple(row["limits"]),
    )


def _use_is_stale(row: dict[str, Any]) -> bool:
    return row["last_used_at"] is None or datetime.now(UTC) - row["last_used_at"] > USE_RESOLUTION


async def by_key(key: str) -> Principal | None:
    """The member whose key this is, or None: unknown, revoked, expired, or of a removed member."""
    if not key.startswith(PREFIX) or len(key) > LONGEST:
        return None
    for row in await transactions.fetch(AUTHENTICATE, [digest(key)]):
        if _use_is_stale(row):
            await transactions.fetch(RECORD_USE, [row["key_id"]])
        return _principal(row)
    return None


async def by_token(token: str, resource: str) -> Principal | None:
    """The member whose OAuth client this access token is, or None: unknown, expired, of a removed member, or good for
    another address than `resource`.
    """
    if not token.startswith(ACCESS) or len(token) > LONGEST:
        return None
    for row in await transactions.fetch(_AUTHENTICATE_TOKEN, [digest(token)]):
        if row["resource"] != resource:
            return None
        if _use_is_stale(row):
            await transactions.fetch(_RECORD_GRANT_USE, [row["grant_id"]])
        return _principal(row | {"key_id": None})
    return None


def by_key_now(key: str) -> Principal | None:
    """The same as `by_key`, for synchronous views."""
    if not key.startswith(PREFIX) or len(key) > LONGEST:
        return None
    with django_connection.cursor() as cursor:
        cursor.execute(AUTHENTICATE, [digest(key)])
        found = cursor.fetchone()
        if found is None:
            return None
        row = dict(zip((column.name for column in cursor.description), found, strict=True))
        if _use_is_stale(row):
            cursor.execute(RECORD_USE, [row["key_id"]])
    return _principal(row)


def once_more(tenant_id: uuid.UUID, user_id: uuid.UUID, key_id: uuid.UUID | None) -> Principal | None:
    """Who proved before who they are, as they are now; None when they are no member any more, or their key is over."""
    named = {"tenant": tenant_id, "user": user_id, "key": key_id}
    with transactions.scope(tenant_id, user_id), django_connection.cursor() as cursor:
        cursor.execute(_ONCE_MORE, named)
        found = cursor.fetchone()
    if found is None:
        return None
    slug, username, role, narrowed = found
    return Principal(tenant_id, slug, user_id, username, role, scopes_of(role, narrowed), key_id)


def memberships(request: HttpRequest) -> list[tuple[uuid.UUID, str, str, str]]:
    """The tenants of the session's user, first joined first: (tenant id, slug, name, role)."""
    return [row[:4] for row in _memberships(request)] if request.user.pk else []


def open_to(request: HttpRequest) -> list[tuple[uuid.UUID, str, str, str]]:
    """Those of them that the session opens: without a second factor not the ones that ask for it."""
    proven = has_second_factor(request)
    return [row[:4] for row in _memberships(request) if proven or not row[4]] if request.user.pk else []


def _memberships(request: HttpRequest) -> list[tuple[uuid.UUID, str, str, str, bool]]:
    """Whoever a tenant's provider has identified is known by that in this tenant alone."""
    only = request.session.get(SIGN_ON_IN_SESSION)
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, slug, name, role, second_factor FROM memberships_of(%s)", [request.user.pk])
        return [row for row in cursor.fetchall() if only is None or str(row[0]) == only]


def has_second_factor(request: HttpRequest) -> bool:
    """Whether a code was given in the session."""
    return SECOND_FACTOR_IN_SESSION in request.session


def by_session(request: HttpRequest, *, second_factor: bool = True) -> Principal | None:
    """The signed-in user in the tenant that their session chose, else in their first; None without either.

    Raises SecondFactorMissing, unless told not to ask for one.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    sessions.used(request)
    of_user = _memberships(request)
    chosen = request.session.get(TENANT_IN_SESSION)
    row = next((each for each in of_user if str(each[0]) == chosen), of_user[0] if of_user else None)
    if row is None:
        return None
    if second_factor and row[4] and not has_second_factor(request):
        raise SecondFactorMissing
    visits.note(row[0], user.pk)
    return Principal(row[0], row[1], user.pk, user.username, row[3], scopes_of(row[3]))


class PasswordBackend(BaseBackend):
    """Django's log-in by username and password, through the two functions that may read one user's row."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **extra: Any
    ) -> User | None:
        """The user, or None; takes as long for an unknown name as for a wrong password."""
        if not username or password is None or "\x00" in username:
            return None
        user = next(iter(User.objects.raw("SELECT * FROM find_login(%s)", [username])), None)
        if user is None:
            make_password(password)
            return None
        if not check_password(password, user.password) or not user.is_active:
            return None
        with django_connection.cursor() as cursor:
            cursor.execute("SELECT record_login(%s)", [user.pk])
        return user

    def find(self, username: str) -> User | None:
        """The active account of that name, if it may have a new password by mail: it has an address and a password."""
        user = next(iter(User.objects.raw("SELECT * FROM find_login(%s)", [username])), None)
        return user if user and user.is_active and user.email and user.has_usable_password() else None

    def get_user(self, user_id: uuid.UUID) -> User | None:
        """The session's user, or None once they are gone or inactive."""
        user = next(iter(User.objects.raw("SELECT * FROM load_user(%s)", [user_id])), None)
        return user if user is not None and user.is_active else None

    def has_perm(self, user_obj: Any, perm: str, obj: object = None) -> bool:
        """Only superusers have Django permissions, and Django asks no backend about them."""
        return False

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Only superusers enter the admin."""
        return False
