"""Rows as frozen dataclasses: a statement names the columns of one, in the order of its fields, and is answered by it.

A column that a later version adds to the table changes nothing for a process of this one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg.rows import args_row

from tenants.scope.transactions import Connection

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made")
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
