"""SQL functions as asynchronous code calls them: alone, in one round trip that is a transaction too, or within another.

A function of a tenant takes tenant and member first, and sets them itself before it reads or writes anything:

    PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);

So one statement in autocommit mode restricts itself, works and commits. One that reads or writes a partitioned table
has SET plan_cache_mode = force_generic_plan in its header: its statements would be planned anew, over every partition,
at each call. What a session sets is no substitute: it is lost behind a pooler.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from psycopg.rows import args_row
from psycopg.types.json import Jsonb
from psycopg.types.numeric import Int2, Int4, Int8

from tenants.scope.exchange import Statement, exchange
from tenants.scope.transactions import Connection, TenantScope, own_pool, prepares, whole

Made = TypeVar("Made")


def _json(value: Any) -> Jsonb:
    """Jsonb(None) is JSON's null; a bare None is no value."""
    return value if isinstance(value, Jsonb) else Jsonb(value)


# Types that psycopg chooses by the value where it is not told: each choice would be a statement of its own to prepare.
_ADAPTED: dict[str, Callable[[Any], Any]] = {
    "int2": Int2,
    "int4": Int4,
    "int8": Int8,
    "jsonb": _json,
    "jsonb[]": lambda values: [None if value is None else _json(value) for value in values],
}
declared: "dict[str, Function[Any]]" = {}


class Function(Generic[Made]):
    """A SQL function: its name, what makes a row of its columns, and its arguments after tenant and member with types.

    `columns` are what is read of its rows. `writes` is False for one that only reads, whose transaction leaves nothing
    to make durable.
    """

    def __init__(
        self, name: str, make: Callable[..., Made], *, columns: str = "*", writes: bool = True, **arguments: str
    ):
        self.name, self.writes = name, writes
        self.arguments = {"tenant": "uuid", "member": "uuid"} | arguments
        self._names = tuple(arguments)
        # By their places among the values, tenant and member first.
        self._adapted = [(at, _ADAPTED[kind]) for at, kind in enumerate(arguments.values(), 2) if kind in _ADAPTED]
        self._row = args_row(make)
        places = ", ".join(f"%s::{kind}" for kind in self.arguments.values())
        self._statement = f"SELECT {columns} FROM {name}({places})".encode()
        self._make = make
        numbered = ", ".join(f"${place}::{kind}" for place, kind in enumerate(self.arguments.values(), 1))
        self._text = f"SELECT {columns} FROM {name}({numbered})".encode()
        declared[name] = self

    async def alone(self, scope: TenantScope, /, **values: Any) -> list[Made]:
        """Call it as a transaction of its own; its rows, once that is committed.

        Raises psycopg.Error, and then nothing has happened; after OperationalError nobody knows.
        """
        statement = self.statement(scope, **values)
        # As `borrowed` does it, without a generator: every step of a chat comes here.
        connections_of = await own_pool()
        connection = await whole(connections_of)
        try:
            [rows] = await exchange(connection, statement)
        finally:
            await connections_of.putconn(connection)
        return rows

    async def on(self, connection: Connection | None, scope: TenantScope, /, **values: Any) -> list[Made]:
        """Call it within the connection's transaction, or alone without one."""
        if connection is None:
            return await self.alone(scope, **values)
        return await self.within(connection, scope, **values)

    async def within(self, connection: Connection, scope: TenantScope, /, **values: Any) -> list[Made]:
        """Call it as a part of the connection's transaction; its rows."""
        cursor = connection.cursor(row_factory=self._row)
        return await (await cursor.execute(self._statement, self._given(scope, values))).fetchall()

    def statement(self, scope: TenantScope, /, **values: Any) -> Statement:
        """The call, to be exchanged together with others."""
        return Statement(self._text, self._given(scope, values), self._make, prepares())

    def _given(self, scope: TenantScope, values: dict[str, Any]) -> list[Any]:
        if len(values) != len(self._names):
            raise TypeError(f"{self.name} takes {', '.join(self.arguments)}")
        given: list[Any] = [*scope, *map(values.__getitem__, self._names)]
        for at, adapt in self._adapted:
            if given[at] is not None:
                given[at] = adapt(given[at])
        return given
