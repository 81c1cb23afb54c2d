"""One snapshot of the database, of all tenants and in constant memory, whatever somebody has written into it."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.json import set_json_loads

from tenants.scope import jsonb

Connection = psycopg.Connection[dict[str, Any]]
Row = dict[str, Any]

BATCH = 1000


class Snapshot:
    """Queries that all see the same moment; the connection's rows are dicts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Values that Python's parsers cannot read become something that fits nothing.
        set_json_loads(_loads, connection)
        connection.adapters.register_loader("timestamptz", _AnyTime)

    @classmethod
    @contextmanager
    def of(cls, connection: Connection) -> Iterator[Self]:
        """Within a transaction that only reads."""
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield cls(connection)

    def rows(self, query: str, values: Sequence[object] = (), size: int = BATCH) -> Iterator[Row]:
        """The rows of a query, `size` at a time."""
        with self._connection.cursor(f"rows_{uuid.uuid4().hex}") as cursor:
            cursor.itersize = size
            cursor.execute(query.encode(), values)
            yield from cursor

    def all(self, query: str, *values: object) -> list[Row]:
        """The rows of a query, at once."""
        return self._connection.execute(query.encode(), values).fetchall()


def batches(rows: Iterable[Row], size: int = BATCH) -> Iterator[list[Row]]:
    """Lists of up to `size` rows."""
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


class _AnyTime(Loader):
    """A time; as text where no datetime can represent it."""

    # psycopg's own: the one in C where that is installed.
    _usual = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, Format.TEXT)

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        assert self._usual is not None
        self._load = self._usual(oid, context).load

    def load(self, data: Buffer) -> Any:
        """The moment, or the text."""
        try:
            return self._load(data)
        except psycopg.DataError:
            return bytes(data).decode()


def _loads(data: str | bytes) -> Any:
    try:
        return jsonb.loads(data)
    except (RecursionError, ValueError):
        return _Unreadable()


class _Unreadable:
    """A value that has no canonical form, and so no hash."""
