"""How a request authenticates: with a bearer key, or Django's session.

All reads that come before a tenant is known go through SECURITY DEFINER functions, which answer about
one key or one person only; the app's database role sees no users table outside a tenant.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.hashers import check_password, make_password
from django.db import connection as django_connection
from django.http import HttpRequest

from tenants.models import User
from tenants.people.keys import LONGEST, PREFIX, digest
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions

AUTHENTICATE = "SELECT * FROM authenticate_key(%s)"
RECORD_USE = "SELECT record_key_use(%s)"
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


def memberships(user_id: uuid.UUID) -> list[tuple[uuid.UUID, str, str, str]]:
    """The tenants of a user, first joined first: (tenant id, slug, name, role)."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, slug, name, role FROM memberships_of(%s)", [user_id])
        return list(cursor.fetchall())


def by_session(request: HttpRequest) -> Principal | None:
    """The signed-in user in the tenant that their session chose, else in their first; None without either."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    of_user = memberships(user.pk)
    chosen = request.session.get(TENANT_IN_SESSION)
    row = next((each for each in of_user if str(each[0]) == chosen), of_user[0] if of_user else None)
    if row is None:
        return None
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
