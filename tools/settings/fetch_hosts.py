"""The hosts that a tenant lets web_fetch read without a human: what owners say of them, and what workers read."""

import uuid
from collections.abc import Iterable

from tenants.people import settings
from tenants.scope.transactions import TenantScope, transaction
from tools.fetching import hosts

_READ = "SELECT fetch_hosts FROM tenants WHERE id = %s"


async def of(scope: TenantScope) -> tuple[str, ...]:
    """The tenant's allowed hosts."""
    async with transaction(scope) as connection:
        row = await (await connection.execute(_READ, [scope.tenant_id])).fetchone()
    return tuple(row["fetch_hosts"]) if row else ()


def change(tenant_id: uuid.UUID, entries: Iterable[str]) -> list[str]:
    """Allow these hosts and no others, on record; as they are stored. Raises InvalidHost."""
    return settings.change(tenant_id, fetch_hosts=hosts.read(entries)).fetch_hosts
