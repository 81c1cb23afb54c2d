"""Members who left and may have runs and calls under way, which a package above ends: across tenants, on the system's
login."""

from typing import Any

from tenants.scope import transactions

_DUE = "SELECT id, tenant_id, user_id, left_at FROM departures WHERE ended_at IS NULL ORDER BY left_at LIMIT %s"
_DONE = "SELECT departure_ended(%s, %s)"


async def due(limit: int) -> list[dict[str, Any]]:
    """Who left and is not `done` with: id, tenant_id, user_id, left_at."""
    return await transactions.fetch(_DUE, [limit], login="system")


async def done(departure: dict[str, Any]) -> None:
    """Nothing of theirs is under way any more."""
    await transactions.fetch(_DONE, [departure["id"], departure["left_at"]], login="system")
