"""One snapshot of the database, of all tenants and in constant memory, whatever somebody has written into it."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from tenants.scope import jsonb

Connection = psycopg.Connection[dict[str, Any]]
Row = dict[str, Any]

BATCH = 1000


class Snapshot:
    """Queries that all see the same moment; the connection's rows are dicts.

    With `plain_ids` ids come as text, which costs a fraction of what objects do.
    """

    def __init__(self, connection: Connection, *, plain_ids: bool = False) -> None:
        self._connection = connection
        self._plain_ids = plain_ids
        # Values that Python's parsers cannot read become something that fits nothing.
        set_json_loads(_loads, connection)
        connection.adapters.register_loader("timestamptz", _AnyTime)

    @classmethod
    @contextmanager
    def of(cls, connection: Connection, shared: str = "") -> Iterator[Self]:
        """Within a transaction that only reads, and sees what the one sees that has `shared` its snapshot."""
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if shared:
                connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(shared)))
            yield cls(connection)

    def share(self) -> str:
        """What other connections can have the same snapshot by, as long as this transaction lasts."""
        [found] = self.all("SELECT pg_export_snapshot() AS name")
        return str(found["name"])

    def with_plain_ids(self) -> "Snapshot":
        """The same snapshot, with ids as text."""
        return Snapshot(self._connection, plain_ids=True)

    def rows(self, query: str, values: Sequence[object] = (), size: int = BATCH) -> Iterator[Row]:
        """The rows of a query, `size` at a time."""
        with self._connection.cursor(f"rows_{uuid.uuid4().hex}") as cursor:
            self._adapt(cursor)
            cursor.itersize = size
            cursor.execute(query.encode(), values)
            yield from cursor

    def all(self, query: str, *values: object) -> list[Row]:
        """The rows of a query, at once."""
        with self._connection.cursor() as cursor:
            self._adapt(cursor)
            return cursor.execute(query.encode(), values).fetchall()

    def _adapt(self, cursor: Any) -> None:
        if self._plain_ids:
            cursor.adapters.register_loader("uuid", TextLoader)


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
