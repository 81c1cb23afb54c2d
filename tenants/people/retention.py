"""How long tenants keep the payloads of their tool calls, and how far erasing them has got; on the system's login."""

import uuid
from datetime import datetime
from typing import Any

from tenants.scope import transactions

_KEEPING = "SELECT id, retention_days, erased_until FROM tenants WHERE retention_days IS NOT NULL ORDER BY id"
_ERASED_UNTIL = "UPDATE tenants SET erased_until = %s WHERE id = %s RETURNING id"


async def keeping() -> list[dict[str, Any]]:
    """The tenants that keep payloads for a while: id, retention_days, and erased_until, null at first."""
    return await transactions.fetch(_KEEPING, login="system")


async def note_erased(tenant_id: uuid.UUID, until: datetime) -> None:
    """Note up to which moment a tenant's payloads are erased."""
    await transactions.fetch(_ERASED_UNTIL, [until, tenant_id], login="system")
