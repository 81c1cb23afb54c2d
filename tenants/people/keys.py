"""API keys: made once, shown once, stored as a hash.

Refused                 the answer's status, code and words
├── NarrowedKey         403 forbidden
├── NotTheirKey         403 forbidden
├── EndedKey            409 key_ended
└── TooManyKeys         409 too_many_keys
"""

import hashlib
import secrets
import uuid
from datetime import datetime, timedelta

from django.db import connections, router, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from tenants.errors import Refused
from tenants.models import ApiKey, Membership
from tenants.people import recorded
from tenants.people.changes import record
from tenants.people.principal import Principal, scopes_of

PREFIX = "tg_"
# Anything longer is no key of ours, and need not be hashed.
LONGEST = 200
# Working ones, of one member.
MOST = 100
# How long a key that is replaced may work beside the new one.
LONGEST_OVERLAP = timedelta(days=7)


class UnknownScope(Exception):
    """A scope was asked for that does not exist or that the member's role does not allow."""


class NarrowedKey(Refused):
    """A key that may do less than its member, or expires, makes no others, which could do more or last longer."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__(
            "This key is narrowed to some scopes, or expires, so it makes no keys and revokes none but itself. Use the "
            "pages under /settings/, or a key without limits of its own."
        )


class NotTheirKey(Refused):
    """The key is another member's: an owner may revoke it, and gets no new one for them."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("This key is another member's. You may revoke it; only they can replace it.")


class EndedKey(Refused):
    """The key does not work any more, so it cannot be replaced."""

    status = 409
    code = "key_ended"

    def __init__(self) -> None:
        super().__init__("This key is revoked or expired. Make a new one.")


class TooManyKeys(Refused):
    """The member has as many working keys as one may have."""

    status = 409
    code = "too_many_keys"

    def __init__(self) -> None:
        super().__init__(f"You have {MOST} working keys, and one may have no more. Revoke those that you do not use.")


def digest(key: str) -> bytes:
    """SHA-256 of a key: with 256 random bits behind it, a slow hash would protect nothing more."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def create(
    *, membership: Membership, name: str = "", scopes: list[str] | None = None, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Make a key for a member; returns the row and the key itself, which is not stored. Raises UnknownScope."""
    beyond = sorted(set(scopes or []) - scopes_of(membership.role))
    if beyond:
        raise UnknownScope(f"the role {membership.role} does not allow {', '.join(beyond)}")
    key = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic(using=router.db_for_write(ApiKey)):
        row = ApiKey.objects.create(
            tenant_id=membership.tenant_id,
            user_id=membership.user_id,
            name=name,
            prefix=key[:10],
            key_hash=digest(key),
            scopes=scopes,
            expires_at=expires_at,
        )
        record(None, recorded.KEY.of(row))
    return row, key


def seen_by(principal: Principal) -> QuerySet[ApiKey]:
    """The caller's own keys, newest first; of owners every key of the tenant. Within the tenant's scope."""
    own = Q() if "admin" in principal.scopes else Q(user_id=principal.user_id)
    return (
        ApiKey.objects.filter(own, tenant_id=principal.tenant_id).select_related("user").order_by("-created_at", "-id")
    )


def make(
    principal: Principal, *, name: str = "", scopes: list[str] | None = None, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A key for the caller, and its text. Within the tenant's scope.

    Raises NarrowedKey, TooManyKeys, and UnknownScope.
    """
    _check_maker(principal)
    membership = Membership.objects.get(tenant_id=principal.tenant_id, user_id=principal.user_id)
    # So that two at once are counted one after the other.
    _lock(principal)
    if working(principal).count() >= MOST:
        raise TooManyKeys
    return create(membership=membership, name=name, scopes=scopes, expires_at=expires_at)


def rotate(principal: Principal, row: ApiKey, overlap: timedelta) -> tuple[ApiKey, str]:
    """A new key in the place of one of the caller's, which works for `overlap` still. Within the tenant's scope.

    It has the old one's name, end and scopes, without those that the role does not allow any more. Raises NarrowedKey,
    NotTheirKey, EndedKey, and TooManyKeys.
    """
    _check_maker(principal)
    if row.user_id != principal.user_id:
        raise NotTheirKey
    _lock(principal)
    row = ApiKey.objects.get(pk=row.pk)
    now = timezone.now()
    if row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now):
        raise EndedKey
    scopes = None if row.scopes is None else sorted(scopes_of(principal.role, row.scopes))
    made = make(principal, name=row.name, scopes=scopes, expires_at=row.expires_at)
    if overlap <= timedelta():
        revoke(principal, row)
        return made
    before = recorded.KEY.of(row)
    row.expires_at = min(now + overlap, row.expires_at or now + overlap)
    row.save(update_fields=["expires_at"])
    record(before, recorded.KEY.of(row))
    return made


def revoke(principal: Principal, row: ApiKey) -> None:
    """End a key that the caller sees, at once; nothing happens when it is revoked. Within the tenant's scope.

    Raises NarrowedKey.
    """
    if row.pk != principal.key_id:
        _check_maker(principal)
    end(row)


def end(row: ApiKey) -> None:
    """End a key, whoever says so; nothing happens when it is revoked."""
    if row.revoked_at is not None:
        return
    before = recorded.KEY.of(row)
    row.revoked_at = timezone.now()
    row.save(update_fields=["revoked_at"])
    record(before, recorded.KEY.of(row))


def working_in(tenant_id: uuid.UUID, username: str = "") -> QuerySet[ApiKey]:
    """The working keys of a tenant, or of one member of it, by user; on the operator's login."""
    found = ApiKey.objects.filter(_unexpired(), tenant_id=tenant_id, revoked_at=None).select_related("user")
    return (found.filter(user__username=username) if username else found).order_by("user__username", "created_at")


def working(principal: Principal) -> QuerySet[ApiKey]:
    """The caller's own keys that are neither revoked nor expired."""
    return ApiKey.objects.filter(
        _unexpired(), tenant_id=principal.tenant_id, user_id=principal.user_id, revoked_at=None
    )


def _unexpired() -> Q:
    return Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())


def _check_maker(principal: Principal) -> None:
    """Raises NarrowedKey when the caller came with a key that is less than its member."""
    if principal.key_id is None:
        return
    key = ApiKey.objects.filter(pk=principal.key_id).first()
    if key is None or key.scopes is not None or key.expires_at is not None:
        raise NarrowedKey


def _lock(principal: Principal) -> None:
    """Changes of one member's keys wait for each other, until the transaction ends."""
    number = uuid.uuid5(principal.tenant_id, f"keys of {principal.user_id}").int % 2**63
    with connections[router.db_for_write(ApiKey)].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
