"""Announces to a person's open pages that their inbox changed; they then read the number of unread entries."""

import asyncio
import logging
import uuid

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 1.0


def group(tenant_id: uuid.UUID, user_id: uuid.UUID) -> str:
    """The channel group of a person's inbox."""
    return f"inbox.{tenant_id.hex}.{user_id.hex}"


async def announce(tenant_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """Say, after the commit, that a person's inbox changed; without Redis, pages find out when they are opened."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await get_channel_layer().group_send(
                group(tenant_id, user_id), {"type": "inbox.changed", "id": str(user_id)}
            )
    except Exception as away:
        log.warning("inbox not reached", extra={"tenant_id": str(tenant_id), "why": type(away).__name__})
