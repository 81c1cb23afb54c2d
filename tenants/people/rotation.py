"""Encrypting again, with the first of the operator's keys, what an older one encrypts: everything that is registered.

It goes through tables in the order of their keys, a batch a transaction, and writes a value only where nobody changed
it since it was read. So it runs beside web and workers, and whoever stops it begins it again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from psycopg import sql

from tenants.people import encryption
from tenants.people.encryption import Undecipherable

BATCH = 500


@dataclass(frozen=True, slots=True)
class Column:
    """Where encrypted text is kept; the table's primary key is `id`. With `member` it is in that member of the column's
    JSON object."""

    table: str
    name: str
    member: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, (self.table, self.name, self.member)))

    @property
    def value(self) -> sql.Composable:
        """The text in SQL."""
        column = sql.Identifier(self.name)
        return sql.SQL("{} ->> {}").format(column, sql.Literal(self.member)) if self.member else column

    @property
    def assignment(self) -> sql.Composable:
        """The text's replacement by a parameter, in SQL."""
        column = sql.Identifier(self.name)
        if not self.member:
            return sql.SQL("{} = %s").format(column)
        path = sql.Literal([self.member])
        return sql.SQL("{0} = jsonb_set({0}, {1}, to_jsonb(%s::text))").format(column, path)


@dataclass(frozen=True, slots=True)
class Count:
    """Of one column: what the first key decrypts, what only another one does, and what none does."""

    current: int = 0
    old: int = 0
    unreadable: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.current + other.current, self.old + other.old, self.unreadable + other.unreadable)


_columns: list[Column] = []


def register(table: str, *names: str) -> None:
    """Say that a table has columns with what `encrypt` made; whoever adds one says so when its app is ready."""
    _columns.extend(each for name in names if (each := Column(table, name)) not in _columns)


def register_member(table: str, name: str, member: str) -> None:
    """The same of a member of a column's JSON object."""
    if (each := Column(table, name, member)) not in _columns:
        _columns.append(each)


def columns() -> list[Column]:
    """Everything that is registered, by table and name."""
    return sorted(_columns, key=str)


def count(column: Column, batch: int = BATCH) -> Count:
    """What is in a column now."""
    return sum((_counted(rows) for rows in _batches(column, batch)), Count())


def rotate(column: Column, batch: int = BATCH) -> Iterator[int]:
    """Encrypt again what needs it: after each batch that needed it, how many were done."""
    done = 0
    for rows in _batches(column, batch):
        if written := _written(column, rows):
            done += written
            yield done


def _batches(column: Column, batch: int) -> Iterator[list[tuple[Any, str]]]:
    query = sql.SQL("SELECT id, {value} FROM {table} WHERE {value} <> '' AND {after} ORDER BY id LIMIT %s")
    names = {"value": column.value, "table": sql.Identifier(column.table)}
    last: Any = None
    while True:
        after = sql.SQL("true") if last is None else sql.SQL("id > %s")
        with connections["operator"].cursor() as cursor:
            cursor.execute(query.format(after=after, **names), [*([] if last is None else [last]), batch])
            rows = cursor.fetchall()
        if rows:
            yield rows
            last = rows[-1][0]
        if len(rows) < batch:
            return


def _written(column: Column, rows: list[tuple[Any, str]]) -> int:
    query = sql.SQL("UPDATE {table} SET {assignment} WHERE id = %s AND {value} = %s").format(
        assignment=column.assignment, value=column.value, table=sql.Identifier(column.table)
    )
    written = 0
    with transaction.atomic(using="operator"), connections["operator"].cursor() as cursor:
        for key, value in rows:
            if encryption.is_current(value):
                continue
            try:
                again = encryption.encrypt(encryption.decrypt(value))
            except Undecipherable:
                continue
            cursor.execute(query, [again, key, value])
            written += cursor.rowcount
    return written


def _counted(rows: list[tuple[Any, str]]) -> Count:
    total = Count()
    for _, value in rows:
        if encryption.is_current(value):
            total += Count(current=1)
        elif encryption.is_readable(value):
            total += Count(old=1)
        else:
            total += Count(unreadable=1)
    return total
