"""Waiting for what other processes do to runs: by wake-ups, and by one query every 2 s in case one was lost.

How far calls are is passed on to whoever follows them, and never looked up.
"""

import asyncio
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from weakref import WeakKeyDictionary

from gateway.runs.watching.relay import INTEREST, Relay
from tenants.scope import transactions
from tools.invocation.live import logs, progress, wakeups
from tools.invocation.live.logs import Logged
from tools.invocation.live.progress import Progress
from tools.invocation.live.wakeups import WakeUp
from tools.network.patience import within

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
# How long who needs to hear what others say waits for Redis before it goes on without.
LISTENING_SECONDS = 1.0
# Of how many calls this process keeps what they have said, for who begins to listen a moment after it was said.
MOST_LOGGED = 64
# Of how many wake-ups that nobody waited for this process keeps the names, for who begins to wait a moment later.
MOST_MISSED = 1024
_MARKS = "SELECT id, mark FROM run_marks(%s)"


class Waits:
    """One event loop's waiters, by run; `relay` is its part in passing on the text of turns under way."""

    def __init__(self) -> None:
        self.relay = Relay(self.wake)
        self._events: dict[uuid.UUID, set[WakeUp]] = {}
        self._hearers: dict[uuid.UUID, list[Callable[[Progress], None]]] = {}
        self._logged: OrderedDict[uuid.UUID, Logged] = OrderedDict()
        self._readers: dict[uuid.UUID, list[Callable[[Logged], None]]] = {}
        self._missed: OrderedDict[uuid.UUID, None] = OrderedDict()
        self._marks: dict[uuid.UUID, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @contextmanager
    def for_run(self, run_id: uuid.UUID) -> Iterator[WakeUp]:
        """An event that is set whenever the run may have changed; the waiter clears it and looks at the rows.

        It is set at once where that was said a moment ago, while nobody waited.
        """
        self._begin()
        event = WakeUp()
        if run_id in self._missed:
            del self._missed[run_id]
            event.set()
        self._events.setdefault(run_id, set()).add(event)
        try:
            yield event
        finally:
            self._events[run_id].discard(event)
            if not self._events[run_id]:
                del self._events[run_id]
                self._marks.pop(run_id, None)

    @contextmanager
    def hearing(self, wake_up_id: uuid.UUID, hear: Callable[[Progress], None]) -> Iterator[None]:
        """Have `hear` told how far the calls of a run, or a call without a run, are."""
        self._begin()
        hearers = self._hearers.setdefault(wake_up_id, [])
        hearers.append(hear)
        try:
            yield
        finally:
            hearers.remove(hear)
            if not hearers:
                self._hearers.pop(wake_up_id, None)

    @contextmanager
    def reading_logs(self, wake_up_id: uuid.UUID, read: Callable[[Logged], None]) -> Iterator[None]:
        """Have `read` told what a call without a run says, each time all of it so far; at once what it has said."""
        self._begin()
        readers = self._readers.setdefault(wake_up_id, [])
        readers.append(read)
        if (said := self._logged.get(wake_up_id)) is not None:
            read(said)
        try:
            yield
        finally:
            readers.remove(read)
            if not readers:
                self._readers.pop(wake_up_id, None)

    async def listening(self) -> None:
        """Return once what other processes say is heard, or after LISTENING_SECONDS: what they say before is lost."""
        self._begin()
        with suppress(TimeoutError):
            await within(LISTENING_SECONDS, self.relay.subscribed.wait())

    def _begin(self) -> None:
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._poll())]

    def wake(self, run_id: uuid.UUID) -> None:
        """Wake the run's waiters in this process."""
        waiting = self._events.get(run_id)
        for event in waiting or ():
            event.set()
        if not waiting:
            self._missed[run_id] = None
            if len(self._missed) > MOST_MISSED:
                self._missed.popitem(last=False)

    async def _listen(self) -> None:
        async for channel, data in wakeups.listen(INTEREST, self.relay.channel, progress.CHANNEL, logs.CHANNEL):
            if channel == progress.CHANNEL:
                self._hear(data)
            elif channel == logs.CHANNEL:
                self._read(data)
            elif channel == self.relay.channel:
                self.relay.receive(data)
            elif channel == INTEREST and data is not None:
                self.relay.heed(data)
            elif channel == wakeups.CHANNEL and data is not None and len(data) == 16:
                self.wake(uuid.UUID(bytes=data))

    def _hear(self, data: bytes | None) -> None:
        if data is not None:
            with suppress(ValueError, TypeError):
                said = progress.decoded(data)
                for hear in self._hearers.get(said.wake_up_id, ()):
                    hear(said)

    def _read(self, data: bytes | None) -> None:
        if data is not None:
            with suppress(ValueError, TypeError):
                said = logs.decoded(data)
                self._logged[said.wake_up_id] = said
                self._logged.move_to_end(said.wake_up_id)
                if len(self._logged) > MOST_LOGGED:
                    self._logged.popitem(last=False)
                for read in self._readers.get(said.wake_up_id, ()):
                    read(said)

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
    loop = asyncio.get_running_loop()
    found = _waits.get(loop)
    if found is None:
        found = _waits[loop] = Waits()
    return found
