"""Which sockets of this process are told what: one connection to Redis hears the announcements to all of them."""

import asyncio
import logging
import uuid
from typing import Protocol

from tools.network import announcements, subscription

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who is told what changes in a group."""

    def hears(self) -> None:
        """It is told from now on; of what changed before, it may not have been."""

    def note(self, changed_id: uuid.UUID) -> None:
        """This has changed."""


class Hearing:
    """The listeners of an event loop, by group."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}
        self._subscribed = False
        self._task: asyncio.Task[None] | None = None

    def begin(self, group: str, listener: Listener) -> None:
        """Tell it what changes in the group, from the moment on that it is told so (`hears`)."""
        self._listeners.setdefault(group, set()).add(listener)
        if self._task is None or self._task.done():
            self._subscribed = False
            self._task = asyncio.create_task(self._listen())
        if self._subscribed:
            listener.hears()

    def end(self, group: str, listener: Listener) -> None:
        """Tell it nothing more; without listeners, nobody listens to Redis."""
        listeners = self._listeners.get(group, set())
        listeners.discard(listener)
        if not listeners:
            self._listeners.pop(group, None)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _listen(self) -> None:
        async for _, data in subscription.listen(announcements.CHANNEL):
            if data is None:
                self._subscribed = True
                for listeners in self._listeners.values():
                    for listener in listeners:
                        listener.hears()
            else:
                self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        try:
            group, changed_id = announcements.decoded(data)
        except (ValueError, TypeError, LookupError, AttributeError) as garbled:
            log.warning("announcement not understood", extra={"why": type(garbled).__name__})
            return
        for listener in self._listeners.get(group, ()):
            listener.note(changed_id)


HEARING = Hearing()
