"""Changes at once, in the order that shows what a lock is for: a race of threads shows it by chance."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import connection, connections, transaction

from tests.database import rows
from tests.waiting import until

T = TypeVar("T")


def both(first: Callable[[], T], second: Callable[[], T]) -> tuple[T, "Future[T]"]:
    """What the first answers, and the second, which begins when the first is made and is not committed yet.

    The commit comes when the second waits for a lock, or has ended without. Each is synchronous code that uses Django's
    connection of the app's login.
    """
    answer, [asked] = in_turn(first, second)
    return answer, asked


def in_turn(first: Callable[[], T], *others: Callable[[], T]) -> tuple[T, list["Future[T]"]]:
    """As `both`, with more than one that comes later: each begins when the one before it waits, or has ended."""

    with ThreadPoolExecutor(len(others)) as threads:
        asked: list[Future[T]] = []
        with transaction.atomic():
            answer = first()
            for other in others:
                process: list[int] = []
                asked.append(threads.submit(_apart, other, process))
                until(partial(_waits_or_is_done, asked[-1], process))
        return answer, asked


def _apart(change: Callable[[], T], process: list[int]) -> T:
    try:
        connection.ensure_connection()
        process.append(connection.connection.info.backend_pid)
        return change()
    finally:
        connections.close_all()


def _waits_or_is_done(asked: "Future[T]", process: list[int]) -> bool:
    return asked.done() or (bool(process) and _waits(process[0]))


def _waits(process: int) -> bool:
    """Whether a process of PostgreSQL waits for a lock."""
    return bool(rows("SELECT 1 AS it FROM pg_locks WHERE NOT granted AND pid = %(p)s", p=process))
