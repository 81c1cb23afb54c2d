"""Announces to a person's open pages that their inbox changed; they then read the number of unread entries."""

import uuid

from tools.network import announcements


def group(tenant_id: uuid.UUID, user_id: uuid.UUID) -> str:
    """The group of a person's inbox."""
    return f"inbox.{tenant_id.hex}.{user_id.hex}"


async def announce(tenant_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """Say, after the commit, that a person's inbox changed; without Redis, pages find out when they are opened."""
    await announcements.announce(group(tenant_id, user_id), [user_id])
