"""What a worker is asked to do for services: messages carry ids and nothing else."""

import uuid

from services.connections import revocation
from services.reading import drift
from tools.worker import background
from tools.worker.background import Lane


@background.task(revocation.TASK, Lane.DELIVERIES)
async def revoke(tenant_id: str) -> None:
    """Tell authorization servers which of a tenant's tokens are not used any more."""
    await revocation.revoke_due(uuid.UUID(tenant_id))


@background.task(drift.CHECK, Lane.UPKEEP)
async def check_drift() -> None:
    """Have the services looked at whose turn it is."""
    await drift.check()


@background.task(drift.LOOK, Lane.REMOTE)
async def look_again(tenant_id: str, slug: str) -> None:
    """See whether a service still offers what was accepted."""
    await drift.look_as_nobody(uuid.UUID(tenant_id), slug)
