"""New ids (RFC 9562): random ones, and UUIDv7, which grow with time, so that a table can be partitioned by them and
paged through."""

import os
import threading
import time
import uuid
from datetime import UTC, datetime

_lock = threading.Lock()
_last = 0
_set_number, _set_safety = (vars(uuid.UUID)[name].__set__ for name in ("int", "is_safe"))


def _of_number(number: int) -> uuid.UUID:
    """The UUID of 128 bits; `UUID` itself looks for the form that they come in, at several times the cost."""
    made = uuid.UUID.__new__(uuid.UUID)
    _set_number(made, number)
    _set_safety(made, uuid.SafeUUID.unknown)
    return made


def uuid4() -> uuid.UUID:
    """A new id of 122 random bits."""
    random = int.from_bytes(os.urandom(16), "big")
    return _of_number(random & ~(0xF << 76 | 0b11 << 62) | 0x4 << 76 | 0b10 << 62)


def uuid7() -> uuid.UUID:
    """A new id: 48 bits of Unix milliseconds, 12 bits that keep this process's ids in order, 62 random bits."""
    global _last
    with _lock:
        moment = time.time_ns() // 1_000_000 << 12 | (time.time_ns() % 1_000_000) * 4096 // 1_000_000
        _last = moment = max(moment, _last + 1)
    milliseconds, fraction = moment >> 12, moment & 0xFFF
    random = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1
    return _of_number(milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random)


def first_id_at(moment: datetime) -> uuid.UUID:
    """The smallest UUIDv7 of a moment; comparing ids with it reads only the partitions after it."""
    milliseconds = min(max(0, int(in_utc(moment).timestamp() * 1000)), (1 << 48) - 1)
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0x8 << 60))


def in_utc(moment: datetime) -> datetime:
    """The moment without its offset, which may be one that PostgreSQL does not take."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        # Within a day of the first or last moment that Python knows, where no call is.
        return moment.replace(tzinfo=UTC)
