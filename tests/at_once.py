"""Two changes at once, in the order that shows what a lock is for: a race of two threads shows it by chance."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from django.db import connection, connections, transaction

from tests.database import waited_for
from tests.waiting import until

T = TypeVar("T")


def both(first: Callable[[], T], second: Callable[[], T]) -> tuple[T, "Future[T]"]:
    """What the first answers, and the second, which begins when the first is made and is not committed yet.

    The commit comes when the second waits for a lock of the first, or has ended without. Each is synchronous code that
    uses Django's connection of the app's login.
    """

    def apart() -> T:
        try:
            return second()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            answer = first()
            asked = thread.submit(apart)
            until(lambda: asked.done() or waited_for(connection.connection))
        return answer, asked
