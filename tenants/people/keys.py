"""API keys: made once, shown once, stored as a hash."""

import hashlib
import secrets
from datetime import datetime

from tenants.models import ApiKey, Membership
from tenants.people.principal import scopes_of

PREFIX = "tg_"
# Anything longer is no key of ours, and need not be hashed.
LONGEST = 200


class UnknownScope(Exception):
    """A scope was asked for that does not exist or that the member's role does not allow."""


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
    row = ApiKey.objects.create(
        tenant_id=membership.tenant_id,
        user_id=membership.user_id,
        name=name,
        prefix=key[:10],
        key_hash=digest(key),
        scopes=scopes,
        expires_at=expires_at,
    )
    return row, key
