"""Lists are paged by cursor: `{next, previous, results}`, however long the table."""

from rest_framework.pagination import CursorPagination


class Pages(CursorPagination):
    """Newest first, 50 a page; `?limit=` up to 200."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering = "-id"
