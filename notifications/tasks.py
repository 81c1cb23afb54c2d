"""What a worker is asked to do with notifications: messages carry ids and nothing else."""

import uuid

from notifications import delivery
from tools.worker import background
from tools.worker.background import Lane


@background.task("notifications.deliver", Lane.DELIVERIES)
async def deliver(tenant_id: str) -> None:
    """Deliver a tenant's notifications that are due."""
    await delivery.deliver(uuid.UUID(tenant_id))
