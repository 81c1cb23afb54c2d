"""UUIDv7 (RFC 9562): ids that grow with time, so that a table can be partitioned by them and paged through."""

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def uuid7() -> uuid.UUID:
    """A new id: 48 bits of Unix milliseconds, 12 bits that keep this process's ids in order, 62 random bits."""
    global _last
    with _lock:
        moment = time.time_ns() // 1_000_000 << 12 | (time.time_ns() % 1_000_000) * 4096 // 1_000_000
        _last = moment = max(moment, _last + 1)
    milliseconds, fraction = moment >> 12, moment & 0xFFF
    random = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random)
