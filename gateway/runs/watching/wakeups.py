"""Waiting for what other processes do to runs: woken by hints, and by one query every 2 s in case a hint was lost."""

import asyncio
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from gateway.runs.watching.relay import INTEREST, Relay
from tenants.scope import transactions
from tools.invocation import wakeups

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
_MARKS = "SELECT id, mark FROM run_marks(%s)"


class Waits:
    """One event loop's waiters, by run; `relay` is its part in passing on the text of turns under way."""

    def __init__(self) -> None:
        self.relay = Relay()
        self._events: dict[uuid.UUID, set[asyncio.Event]] = {}
        self._marks: dict[uuid.UUID, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @contextmanager
    def for_run(self, run_id: uuid.UUID) -> Iterator[asyncio.Event]:
        """An event that is set whenever the run may have changed; the waiter clears it and looks at the rows."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._poll())]
        event = asyncio.Event()
        self._events.setdefault(run_id, set()).add(event)
        try:
            yield event
        finally:
            self._events[run_id].discard(event)
            if not self._events[run_id]:
                del self._events[run_id]
                self._marks.pop(run_id, None)

    def wake(self, run_id: uuid.UUID) -> None:
        """Wake the run's waiters in this process."""
        for event in self._events.get(run_id, ()):
            event.set()

    async def _listen(self) -> None:
        async for channel, data in wakeups.listen(INTEREST, self.relay.channel):
            if channel == self.relay.channel:
                self.relay.receive(data)
            elif channel == INTEREST and data is not None:
                self.relay.heed(data)
            elif channel == wakeups.CHANNEL and data is not None and len(data) == 16:
                self.wake(uuid.UUID(bytes=data))

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._events:
                continue
            try:
                rows = await transactions.fetch(_MARKS, [list(self._events)])
            except Exception as error:
                log.warning("runs not polled", extra={"why": type(error).__name__})
                continue
            for row in rows:
                # The first mark wakes too: what changed between the waiter's last look and now is not known.
                if self._marks.get(row["id"]) != row["mark"] and row["id"] in self._events:
                    self._marks[row["id"]] = row["mark"]
                    self.wake(row["id"])


_waits: WeakKeyDictionary[asyncio.AbstractEventLoop, Waits] = WeakKeyDictionary()


def waits() -> Waits:
    """The running event loop's waiters."""
    return _waits.setdefault(asyncio.get_running_loop(), Waits())
