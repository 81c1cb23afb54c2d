"""Announcements to the sockets of all web processes: something changed, in a tenant's queue or a person's inbox.

They name a row. Who hears one reads it, by rights of their own; a lost one is nobody's error, since pages also look by
themselves.
"""

import logging
import uuid
from collections.abc import Iterable

import orjson

from tools.network import redis
from tools.network.patience import within

log = logging.getLogger(__name__)

CHANNEL = "toolgate:changes"
_PATIENCE_SECONDS = 1.0


async def announce(group: str, changed: Iterable[uuid.UUID]) -> None:
    """Tell who listens to a group that these rows changed; after the commit. Whatever fails is only logged."""
    try:
        await within(_PATIENCE_SECONDS, _published(group, changed))
    except Exception as away:
        log.warning("sockets not told", extra={"group": group, "why": type(away).__name__})


async def _published(group: str, changed: Iterable[uuid.UUID]) -> None:
    for changed_id in changed:
        await redis.ask("PUBLISH", CHANNEL, orjson.dumps({"group": group, "id": changed_id}))


def decoded(data: bytes) -> tuple[str, uuid.UUID]:
    """A group, and which row changed. Raises ValueError, TypeError, KeyError or AttributeError."""
    said = orjson.loads(data)
    return str(said["group"]), uuid.UUID(said["id"])
