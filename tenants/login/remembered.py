"""Members whom this process has authenticated by their keys, for the few paths that check in their first transaction
whether the tenant's rights are still those.

Nobody tells a process that a key was revoked, or what else of it or of its member changed: each of these changes the
version of the tenant's rights. Who goes by a remembered member hands its version to the transaction in which they act
first, and authenticates anew when the tenant has another one. A key that expires is not remembered.
"""

import time
from collections import OrderedDict
from dataclasses import replace

from tenants.login import authentication
from tenants.people.keys import digest
from tenants.people.principal import Principal, scopes_of
from tenants.scope.transactions import TenantScope, transaction

# Keys that a process remembers, the last used ones, and for how long after their use was recorded: then it is again.
MOST = 4096
SECONDS = authentication.USE_RESOLUTION.total_seconds()
# In one moment: all that a principal is made of, and the version of the rights then.
_READ = """
    SELECT m.role, k.scopes, rights_version(m.tenant_id) AS version,
        extract(epoch FROM now() - k.last_used_at)::float8 AS unrecorded
    FROM api_keys k
    JOIN memberships m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id
    JOIN users u ON u.id = k.user_id AND u.is_active
    WHERE k.id = %s AND k.revoked_at IS NULL AND k.expires_at IS NULL"""
_known: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()


async def by_key(key: str, *, anew: bool = False) -> Principal | None:
    """As `authentication.by_key`; a principal with a `version` is remembered, and holds while the tenant's rights have
    that version. `anew`: not by what is remembered."""
    hashed = digest(key)
    until, known = _known.get(hashed, (0.0, None))
    if known is not None and not anew and time.monotonic() < until:
        _known.move_to_end(hashed)
        return known
    _known.pop(hashed, None)
    principal = await authentication.by_key(key)
    if principal is not None:
        await _remember(hashed, principal)
    return principal


async def _remember(hashed: bytes, principal: Principal) -> None:
    async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        row = await (await connection.execute(_READ, [principal.key_id])).fetchone()
    if row is not None and row["unrecorded"] is not None:
        scopes = scopes_of(row["role"], row["scopes"])
        versioned = replace(principal, role=row["role"], scopes=scopes, version=row["version"])
        _known[hashed] = (time.monotonic() + SECONDS - row["unrecorded"], versioned)
        if len(_known) > MOST:
            _known.popitem(last=False)
