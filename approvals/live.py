"""Announces to whoever watches a tenant's queue that a request is new or decided; they then read the row."""

import asyncio
import logging
import uuid
from collections.abc import Iterable

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 1.0


def group(tenant_id: uuid.UUID) -> str:
    """The channel group of a tenant's queue."""
    return f"approvals.{tenant_id.hex}"


async def announce(tenant_id: uuid.UUID, request_ids: Iterable[uuid.UUID]) -> None:
    """Say that these requests changed; Redis being away is nobody's error, since pages also look by themselves."""
    layer = get_channel_layer()
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            for request_id in request_ids:
                await layer.group_send(group(tenant_id), {"type": "approval.changed", "id": str(request_id)})
    except Exception as away:
        log.warning("queue not reached", extra={"tenant_id": str(tenant_id), "why": type(away).__name__})
