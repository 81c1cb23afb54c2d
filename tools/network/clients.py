"""The guarded HTTP clients of a process, one for each tenant, service and credential: what one of them has open, no
other ever uses."""

import asyncio
import hashlib
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from tools.network.egress import Client

# Clients that are held although nobody uses them at the moment; the one that was used longest ago is closed first.
MOST_HELD = 256

# Whose connections they are: (tenant, service or its address, digest of the credential).
Key = tuple[uuid.UUID, str, str]


@dataclass(slots=True)
class _Held:
    client: Client
    users: int = 0


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, OrderedDict[Key, _Held]] = WeakKeyDictionary()


def digest(headers: Mapping[str, str]) -> str:
    """What stands for the headers of a credential in a key."""
    return hashlib.sha256(repr(sorted(headers.items())).encode()).hexdigest()


@asynccontextmanager
async def client_of(key: Key) -> AsyncIterator[Client]:
    """The client of this key in this event loop, kept open while it is used, and as long as there are not too many."""
    held = _clients.setdefault(asyncio.get_running_loop(), OrderedDict())
    if key not in held:
        held[key] = _Held(Client())
    mine = held[key]
    held.move_to_end(key)
    mine.users += 1
    try:
        yield mine.client
    finally:
        mine.users -= 1
        await _close_some(held)


async def _close_some(held: OrderedDict[Key, _Held]) -> None:
    if len(held) <= MOST_HELD:
        return
    idle = [key for key, each in held.items() if not each.users]
    closing = [held.pop(key) for key in idle[: max(0, len(idle) - MOST_HELD)]]
    for each in closing:
        await each.client.close()


async def close() -> None:
    """Close this event loop's clients."""
    for each in (_clients.pop(asyncio.get_running_loop(), None) or {}).values():
        await each.client.close()
