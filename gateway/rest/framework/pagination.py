"""Lists are paged by cursor: `{next, previous, results}`, however long the table."""

from typing import Any

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
