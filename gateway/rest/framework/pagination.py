"""Lists are paged by cursor: `{next, previous, results}`, however long the table."""

from collections.abc import Iterable
from typing import Any, Self

from django.core.exceptions import ValidationError
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Pages(CursorPagination):
    """Newest first, 50 a page; `?limit=` up to 200."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering = "-id"

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The page in the OpenAPI document."""
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": address, "previous": address, "results": schema},
        }

    def paginate_queryset(self, *args: Any, **kwargs: Any) -> Any:
        """A page; 404 for a cursor that names no place in this list."""
        try:
            return super().paginate_queryset(*args, **kwargs)
        except ValidationError:
            raise NotFound(self.invalid_cursor_message) from None

    def decode_cursor(self, request: Request) -> Any:
        """The cursor's place; 404 for one that no text of PostgreSQL's can be."""
        cursor = super().decode_cursor(request)
        if cursor is not None and "\x00" in str(cursor.position or ""):
            raise NotFound(self.invalid_cursor_message)
        return cursor


class NewestFirst(Pages):
    """By when they were made."""

    ordering = ("-created_at", "-id")  # type: ignore[assignment]


class InMemory:
    """A list that is made as a whole, as cursor pagination asks for it: ordered, filtered by its cursor, sliced.

    Each of it has a `place`, a text that no other one has.
    """

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = sorted(rows, key=lambda row: row.place)

    def order_by(self, ordering: str) -> Self:
        """By place, in either direction."""
        if ordering.startswith("-"):
            self._rows.reverse()
        return self

    def filter(self, **place: str) -> Self:
        """From the place of a cursor on."""
        (name, value), *_ = place.items()
        onwards = name == "place__gt"
        self._rows = [row for row in self._rows if (row.place > value if onwards else row.place < value)]
        return self

    def __getitem__(self, part: slice) -> list[Any]:
        return self._rows[part]
