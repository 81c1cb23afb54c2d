"""Reads the next calls of a download, and writes them as a part of its file."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections

from audit.history import calls
from audit.history.exports import formats
from audit.history.filters import Chosen
from audit.history.pages import FORMER, usernames
from audit.models import ToolCall
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.routing import on_login

WRITE: Mapping[str, Callable[[list[formats.Row], Mapping[uuid.UUID, str]], bytes]] = {
    "csv": formats.csv_lines,
    "jsonl": formats.jsonl,
}
# The most of large arguments and results in memory at a time; those of a single call may be larger.
MOST_BYTES = 4 * 1024 * 1024
# What is not large, in bytes.
SMALL = 4096


_USER = formats.COLUMNS.index("person")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The calls of a download from a place on: whose, which, how many at most, and as what."""

    principal: Principal
    chosen: Chosen
    form: str
    before: uuid.UUID | None
    limit: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of the file, and the id that the next one begins before; None when there are no more calls."""

    part: bytes
    before: uuid.UUID | None


@contextmanager
def _reading(principal: Principal) -> Iterator[None]:
    with on_login("export"), transactions.scope(principal.tenant_id, principal.user_id, using="export"):
        yield


def next_batch(wanted: Wanted) -> Batch:
    """The next calls, newest first, on the login "export", in a transaction of its own.

    It may have fewer calls than are wanted: their large values together have at most MOST_BYTES, or are one call's.
    """
    with _reading(wanted.principal):
        found = _found(wanted)
        rows = _with_large_values(wanted.principal, found)
        names = usernames({row[_USER] for row in rows})
    known = {row[_USER]: names.get(row[_USER], FORMER) for row in rows}
    more = len(found) == wanted.limit or len(rows) < len(found)
    return Batch(WRITE[wanted.form](rows, known), rows[-1][0] if more and rows else None)


def _found(wanted: Wanted) -> list[Any]:
    """The next rows and, behind each, its size; large ones without their values."""
    listed: Any = ToolCall.objects.values_list(*formats.expressions(SMALL), formats.size_of_values())
    asked = wanted.chosen.filters(wanted.principal)
    return calls.page(wanted.principal, asked, limit=wanted.limit, before=wanted.before, calls=listed)


def _with_large_values(principal: Principal, found: list[Any]) -> list[formats.Row]:
    """The first of the rows, as many as their large values let in, with these."""
    large: list[uuid.UUID] = []
    held, end = 0, len(found)
    for place, row in enumerate(found):
        if row[-1] > SMALL:
            held += row[-1]
            if held > MOST_BYTES and large:
                end = place
                break
            large.append(row[0])
    rows = [row[:-1] for row in found[:end]]
    if not large:
        return rows
    query = calls.visible(principal, ToolCall.objects.filter(id__in=large, id__gte=large[-1], id__lte=large[0]))
    full = {row[0]: row for row in query.values_list(*formats.expressions())}
    # A call that changed since has values that belong together.
    return [full.get(row[0], row) for row in rows]


def release() -> None:
    """Give the connection back, or close it where there is no pool."""
    connections["export"].close()
