"""Announces to whoever watches a tenant's queue that a request is new or decided; they then read the row."""

import uuid
from collections.abc import Iterable

from tools.network import announcements


def group(tenant_id: uuid.UUID) -> str:
    """The group of a tenant's queue."""
    return f"approvals.{tenant_id.hex}"


async def announce(tenant_id: uuid.UUID, request_ids: Iterable[uuid.UUID]) -> None:
    """Say, after the commit, that these requests changed; Redis being away is nobody's error."""
    await announcements.announce(group(tenant_id), request_ids)
