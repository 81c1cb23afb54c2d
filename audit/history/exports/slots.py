"""Limits how many downloads of the history run at a time, so that they leave threads and memory for others."""

import threading
import uuid
from collections import Counter
from collections.abc import Callable

from django.conf import settings


class Slots:
    """The running downloads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: Counter[uuid.UUID] = Counter()

    def take(self, user_id: uuid.UUID) -> Callable[[], None] | None:
        """A slot for a download of this person, as a function that releases it (once, however often called); None when
        the person has `TOOLGATE_EXPORTS_PER_PERSON` or the process `TOOLGATE_EXPORTS` of them."""
        with self._lock:
            if self._held[user_id] >= settings.TOOLGATE_EXPORTS_PER_PERSON:
                return None
            if self._held.total() >= settings.TOOLGATE_EXPORTS:
                return None
            self._held[user_id] += 1
        once = threading.Lock()

        def give_back() -> None:
            if once.acquire(blocking=False):
                with self._lock:
                    self._held[user_id] -= 1
                    # Zeros are removed.
                    self._held += Counter()

        return give_back
