"""Forgets slots that nobody will ask about any more; the runs stay."""

from tenants.scope import transactions

RETENTION_DAYS = 30
_FORGET = "DELETE FROM schedule_slots WHERE created_at < now() - make_interval(days => %s) RETURNING tenant_id"


async def forget_old() -> None:
    """Delete the slots of more than RETENTION_DAYS ago, of all tenants."""
    await transactions.fetch(_FORGET, [RETENTION_DAYS], login="system")
