"""How many streams are open at a time: of one person, and of this process.

A stream is an answer or a socket that stays open: a run's events, a streamed chat of any API, a WebSocket, a standing
stream of `/mcp`. Each costs its process memory, and work whenever something happens; without a bound one person's could
use up what others need.
"""

import threading
import uuid
from collections import Counter
from types import TracebackType

from django.conf import settings

from tenants.errors import Refused
from tenants.people.principal import Principal

RETRY_SECONDS = 5


class TooManyOpenStreams(Refused):
    """The person, or this process, has as many open streams as it may have."""

    status = 429
    code = "too_many_streams"
    retry_after = RETRY_SECONDS


class OpenStream:
    """A place that one stream has until it is closed: as a context manager, by `close`, or when nobody holds it."""

    def __init__(self, streams: "Streams", whose: tuple[uuid.UUID, uuid.UUID]):
        self._streams: Streams | None = streams
        self._whose = whose

    def close(self) -> None:
        """Give the place back, once, however often it is called."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams.give_back(self._whose)

    def __enter__(self) -> "OpenStream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # An answer whose client goes before it begins is never asked for its first piece, and never closed.
    __del__ = close


class Streams:
    """The open streams of this process."""

    def __init__(self) -> None:
        # Also taken by a place that is collected while this thread has it.
        self._lock = threading.RLock()
        self._open: Counter[tuple[uuid.UUID, uuid.UUID]] = Counter()
        self._total = 0

    def open(self, principal: Principal) -> OpenStream:
        """A place for one more stream of this person in this tenant; raises TooManyOpenStreams."""
        whose = (principal.tenant_id, principal.user_id)
        most, most_of_all = settings.TOOLGATE_STREAMS_PER_PERSON, settings.TOOLGATE_STREAMS
        with self._lock:
            if self._open[whose] >= most:
                raise TooManyOpenStreams(
                    f"You have {most} open streams in this web process, which is as many as one person may have "
                    "(TOOLGATE_STREAMS_PER_PERSON). Close one, or try again when one has ended."
                )
            if self._total >= most_of_all:
                raise TooManyOpenStreams(
                    f"This web process has {most_of_all} open streams, which is as many as it may have "
                    f"(TOOLGATE_STREAMS). Try again in {RETRY_SECONDS} seconds; if it goes on, tell the operator."
                )
            self._open[whose] += 1
            self._total += 1
            return OpenStream(self, whose)

    def give_back(self, whose: tuple[uuid.UUID, uuid.UUID]) -> None:
        """One of this person's streams is closed."""
        with self._lock:
            self._open[whose] -= 1
            self._total -= 1
            if self._open[whose] <= 0:
                del self._open[whose]

    def count(self) -> int:
        """How many are open."""
        return self._total


STREAMS = Streams()
