"""The filters of the operators' list of calls."""

import uuid
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter

from audit.history import calls
from audit.history.filters import OUTCOMES, PERIODS, RECENT
from audit.models import ToolCall
from audit.templatetags.audit_text import visible


def asked(request: HttpRequest, words: str | None = None) -> calls.Filters:
    """All filters at once, since a search finds only the newest calls."""
    given = request.GET.get
    try:
        tenant = uuid.UUID(given("tenant__id__exact", ""))
    except ValueError:
        tenant = None
    return calls.Filters(
        tenant_id=tenant, tool=given("tool") or None, error_code=given("error_code__exact") or None, words=words
    )


class ToolFilter(DropdownFilter):
    """By tool; the choice is of the latest calls' tools, since naming all would read the whole table."""

    title = "tool"
    parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names among the latest calls."""
        recent = set(ToolCall.objects.order_by("-id").values_list("tool_name", flat=True)[:RECENT])
        return [(name, visible(name)[:64]) for name in sorted(recent)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        """The calls of that tool."""
        return calls.narrowed(queryset, asked(request)) if self.value() else queryset


class OutcomeFilter(DropdownFilter):
    """By outcome, in the words of the history page."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The same outcomes as on the history page."""
        return OUTCOMES[1:]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        """The calls that ended so."""
        value = self.value() or ""
        return calls.narrowed(queryset, calls.Filters(status=value)) if value in dict(OUTCOMES[1:]) else queryset


class PeriodFilter(DropdownFilter):
    """By date, through the ids, which grow with time: only the partitions of the period are read."""

    title = "date"
    parameter_name = "period"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The same periods as on the history page."""
        return [(key, label) for key, (label, _) in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        """The calls since then."""
        period = PERIODS.get(self.value() or "")
        since = datetime.now(UTC) - period[1] if period else None
        return calls.narrowed(queryset, calls.Filters(since=since))
