"""Rows as frozen dataclasses: a statement names the columns of one, in the order of its fields, and is answered by it.

A column that a later version adds to the table changes nothing for a process of this one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from psycopg import AsyncConnection
from psycopg.pq import PipelineStatus
from psycopg.rows import args_row, dict_row

from tenants.scope.exchange import PooledConnection, Statement, exchange
from tenants.scope.transactions import Connection, prepares

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made")
_PLACE = re.compile(r"%(?:\((\w+)\))?s|%%")
Values = Sequence[object] | Mapping[str, object]


def columns(kind: "type[DataclassInstance]", table: str = "") -> str:
    """What a SELECT or RETURNING names to be answered by `kind`; of `table`, where several are joined."""
    prefix = f"{table}." if table else ""
    return ", ".join(f"{prefix}{each.name}" for each in fields(kind))


def columns_of(kind: "type[DataclassInstance]", composite: str) -> str:
    """What a SELECT names to be answered by `kind` out of a column that holds a whole row."""
    return ", ".join(f"({composite}).{each.name}" for each in fields(kind))


def placeholders(kind: "type[DataclassInstance]") -> str:
    """The VALUES of an INSERT that `values` of a `kind` fill in."""
    return ", ".join(f"%({each.name})s" for each in fields(kind))


def values(row: "DataclassInstance") -> dict[str, Any]:
    """A row's fields by name, for a statement that writes them; what they hold is not copied."""
    names, read = _fields_of(type(row))
    return dict(zip(names, read(row), strict=True))


@cache
def _fields_of(kind: "type[DataclassInstance]") -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of a kind's fields, and what reads all of them at once; it has at least two."""
    names = tuple(each.name for each in fields(kind))
    return names, attrgetter(*names)


async def one(connection: Connection, make: Callable[..., Made], query: str, values: Values) -> Made | None:
    """The first row, made by `make` of its columns; None when there is none."""
    cursor = connection.cursor(row_factory=args_row(make))
    return await (await cursor.execute(query.encode(), values)).fetchone()


async def every(connection: Connection, make: Callable[..., Made], query: str, values: Values) -> list[Made]:
    """All rows, each made by `make` of its columns."""
    cursor = connection.cursor(row_factory=args_row(make))
    return await (await cursor.execute(query.encode(), values)).fetchall()


async def dicts(connection: AsyncConnection[Any], query: str, values: Values = ()) -> list[dict[str, Any]]:
    """All rows by their columns' names, for a fixed text: on a connection of the pool outside a pipeline it is prepared
    at once, and costs what `exchange` does."""
    if not _exchanges(connection):
        return await (await connection.cursor(row_factory=dict_row).execute(query.encode(), values)).fetchall()
    [found] = await exchange(cast(PooledConnection, connection), _statement(query, values, named=True))
    return found


async def run(connection: AsyncConnection[Any], query: str, values: Values = ()) -> None:
    """As `dicts`, for what has no rows; within a pipeline its error shows later."""
    if _exchanges(connection):
        await exchange(cast(PooledConnection, connection), _statement(query, values))
    else:
        await connection.execute(query.encode(), values)


def _exchanges(connection: AsyncConnection[Any]) -> bool:
    return isinstance(connection, PooledConnection) and connection.pgconn.pipeline_status == PipelineStatus.OFF


def _statement(query: str, values: Values, *, named: bool = False) -> Statement:
    text, names = _numbered(query)
    given = [values[name] for name in names] if isinstance(values, Mapping) else list(values)
    return Statement(text, given, prepared=prepares(), named=named)


@cache
def _numbered(query: str) -> tuple[bytes, tuple[str, ...]]:
    """A text with psycopg's placeholders as PostgreSQL has them ($1), and their names, if they have any."""
    names: dict[str, int] = {}

    def place(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        # One without a name is one of its own.
        return f"${names.setdefault(found[1] or f'{len(names) + 1}', len(names) + 1)}"

    return _PLACE.sub(place, query).encode(), tuple(names)
