"""What is kept of MCP servers between calls: the revision that was agreed on, and each user's session where it has one.

Of one tenant, service and credential each, in this process and event loop; nothing of it is worth more than the
requests that it saves. A server may keep something in a session, so no two users share one.
"""

import asyncio
import itertools
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tools.network.clients import Key

MOST_HELD = 4096


@dataclass(slots=True)
class Known:
    """What all users share: the `revision` that the server speaks, "" until that is known, and what it says of itself.

    `looked_at` is when its tools were listed last because a call had failed, of `time.monotonic()`.
    """

    revision: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    looked_at: float = float("-inf")


@dataclass(slots=True)
class Session:
    """One user's; `revision` is "" until it is open, `id` is "" where the server gives none."""

    known: Known = field(default_factory=Known)
    revision: str = ""
    id: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def forget(self) -> None:
        """Agree anew with the next request."""
        self.revision, self.id, self.about = "", "", {}
        self.known.revision = ""


@dataclass(slots=True)
class _Held:
    servers: OrderedDict[Key, Known] = field(default_factory=OrderedDict)
    sessions: OrderedDict[tuple[Key, uuid.UUID], Session] = field(default_factory=OrderedDict)


_held: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()


def of(key: Key, user_id: uuid.UUID) -> Session:
    """The user's session with the server under this key in this event loop, a new one where there is none."""
    held = _held.setdefault(asyncio.get_running_loop(), _Held())
    known = held.servers.setdefault(key, Known())
    held.servers.move_to_end(key)
    session = held.sessions.setdefault((key, user_id), Session(known))
    held.sessions.move_to_end((key, user_id))
    for each in (held.servers, held.sessions):
        if len(each) > MOST_HELD:
            each.popitem(last=False)
    return session
