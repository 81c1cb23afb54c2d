"""Server-sent events out of pieces of a stream, bounded."""

from collections.abc import Iterator
from dataclasses import dataclass


class TooLarge(Exception):
    """An event is larger than it may be."""


@dataclass(slots=True)
class Event:
    """One event; `retry` is in milliseconds."""

    data: str = ""
    id: str | None = None
    retry: int | None = None


class Events:
    """Takes a stream's bytes in; an event may have `most` of them."""

    def __init__(self, most: int):
        self._most = most
        self._buffer = bytearray()
        self._seen = 0
        self._lines: list[bytes] = []
        self._event = Event()
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that this piece ends. Raises TooLarge."""
        self._buffer += piece
        while (end := self._buffer.find(b"\n", self._seen)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._seen = 0
            for part in line.removesuffix(b"\r").split(b"\r"):
                if (event := self._line(part)) is not None:
                    yield event
        self._seen = len(self._buffer)
        if self._seen + self._size > self._most:
            raise TooLarge

    def _line(self, line: bytes) -> Event | None:
        if not line:
            event, self._event = self._event, Event()
            event.data = b"\n".join(self._lines).decode("utf-8", "replace")
            self._lines, self._size = [], 0
            return event if event.data or event.id is not None or event.retry is not None else None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._lines.append(value)
            self._size += len(value) + 1
            if self._size > self._most:
                raise TooLarge
        elif name == b"id" and b"\x00" not in value and len(value) <= 1024:
            self._event.id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self._event.retry = int(value)
        return None
