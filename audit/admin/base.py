"""What the audit's admin pages share: they are read-only."""

import json
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from audit.templatetags.audit_text import visible

# The most that a page shows of one value; the API and exports have all of it.
SHOWN = 20_000


class ReadOnlyAdmin(ModelAdmin):
    """Rows that nobody adds, changes or deletes; the table is never counted, whatever its size."""

    paginator = InfinitePaginator
    show_full_result_count = False
    list_per_page = 50
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False


def sheet(text: str) -> str:
    """A text in a box that preserves its lines and hides nothing; cut when it is long."""
    more = f"\n… {len(text) - SHOWN:,} characters more" if len(text) > SHOWN else ""
    return format_html(
        '<pre class="whitespace-pre-wrap break-words font-mono text-xs">{}{}</pre>', visible(text[:SHOWN]), more
    )


def json_sheet(value: Any) -> str:
    """A JSON value in such a box."""
    return sheet(json.dumps(value, indent=2, ensure_ascii=False))
