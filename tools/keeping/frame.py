"""What the pages of kept things share: their frame, and pages of long lists."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from tenants.login.access import SignedInRequest
from tenants.login.pages import frame

SHOWN = 50
_PAGES_AT_MOST = 10_000


def framed(request: SignedInRequest, tab: str) -> dict[str, Any]:
    """The context of a page under one of the tabs: "notes", "tasks" or "memories"."""
    return frame(request, "notes") | {"tab": tab}


def paged(request: SignedInRequest, rows: QuerySet[Any]) -> Page[Any]:
    """The part of a list that `?page=` asks for; the first where that is no number."""
    number = request.GET.get("page", "1")
    wanted = int(number) if number.isdecimal() and len(number) < 6 else 1
    return Paginator(rows, SHOWN).get_page(min(wanted, _PAGES_AT_MOST))
