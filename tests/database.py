"""What the tables really hold, as the database's owner sees it."""

import os
from collections import deque
from typing import Any

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]


class Owner:
    """Connections that stay open between queries: a new one costs more than most queries do.

    Any thread may ask. What has ended meanwhile is closed and forgotten, and nothing asked twice.
    """

    def __init__(self) -> None:
        self._idle: deque[tuple[str, psycopg.Connection[Row]]] = deque()

    def rows(self, url: str, query: str, values: Any) -> list[Row]:
        """The rows of a query at an address."""
        connection = self._take(url)
        try:
            return connection.execute(query.encode(), values).fetchall()
        finally:
            if not connection.closed:
                self._idle.append((url, connection))

    def _take(self, url: str) -> psycopg.Connection[Row]:
        try:
            known, connection = self._idle.pop()
        except IndexError:
            # Tables change while tests run, and a prepared statement would remember how they were.
            return psycopg.connect(url, autocommit=True, row_factory=dict_row, prepare_threshold=None)
        if known == url:
            return connection
        connection.close()
        return self._take(url)


_owner = Owner()


def rows(query: str, **values: object) -> list[Row]:
    """The rows of a query, past row-level security.

    Without ORDER BY they are turned round: PostgreSQL promises no order then, and whoever relies on the usual one fails
    each time instead of once in a while.
    """
    found = _owner.rows(os.environ["DATABASE_OWNER_URL"], query, values)
    return found if "ORDER BY" in query else found[::-1]


def waited_for(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether somebody waits for a lock of the connection's transaction."""
    query = "SELECT 1 AS it FROM pg_locks WHERE NOT granted AND %(me)s = ANY(pg_blocking_pids(pid))"
    return bool(rows(query, me=connection.info.backend_pid))
