"""Requests per minute of a tenant, a person and a key: counted together, in one command to Redis.

Where a tenant has no limits nothing is asked. Pages are not counted: an owner who has set a limit too low can change
it.
"""

import uuid
from dataclasses import replace

from asgiref.sync import async_to_sync
from django.db import connection

from gateway.http.errors import LimitsAway, TooManyRequests
from tenants.people.principal import Principal
from tools.gates import rate_counter
from tools.gates.rate_counter import LimitsUnavailable

WINDOW_SECONDS = 60
_READ = "SELECT request_limits_of(%s)"


async def admit(principal: Principal, *, changes: bool = True) -> None:
    """Count a request where there are limits. Raises TooManyRequests, and LimitsAway for one that `changes` things
    while nothing can be counted."""
    limits = _windows(principal)
    if not limits:
        return
    try:
        charges = await rate_counter.charge_all(dict(limits.values()), WINDOW_SECONDS)
    except LimitsUnavailable:
        if changes:
            raise LimitsAway from None
        return
    charged = dict(zip(limits, charges, strict=True))
    if not all(charge.allowed for charge in charges):
        raise TooManyRequests(charged, WINDOW_SECONDS)


def admit_now(principal: Principal, method: str) -> Principal:
    """The same for synchronous code, by the request's method, also for a session, whose limits are read here."""
    if principal.limits is None:
        with connection.cursor() as cursor:
            cursor.execute(_READ, [principal.tenant_id])
            principal = replace(principal, limits=tuple(cursor.fetchone()[0]))
    if any(principal.limits or ()):
        async_to_sync(admit)(principal, changes=method not in ("GET", "HEAD", "OPTIONS"))
    return principal


def _windows(principal: Principal) -> dict[str, tuple[str, int]]:
    """By whose it is, the key in Redis and the limit of each window that applies."""
    tenant, person, key = principal.limits or (None, None, None)
    found: dict[str, tuple[str, int]] = {}
    if tenant is not None:
        found["tenant"] = _key(principal.tenant_id), tenant
    if person is not None:
        found["person"] = _key(principal.tenant_id, principal.user_id), person
    if key is not None and principal.key_id is not None:
        found["key"] = _key(principal.tenant_id, principal.key_id, "key:"), key
    return found


def _key(tenant_id: uuid.UUID, of: uuid.UUID | None = None, kind: str = "") -> str:
    return f"toolgate:requests:{tenant_id}" + (f":{kind}{of}" if of else "")
