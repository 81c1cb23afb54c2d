"""The audit log in the admin: to be read, and never to be changed from here."""

import uuid
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from audit.calls import first_id_at
from audit.filters import PERIODS, RECENT
from audit.models import LedgerEntry, ToolCall
from audit.templatetags.audit_text import pretty, status_words, took, visible

LABELS = {"success": "success", "error": "danger", "awaiting_approval": "warning"}
# Columns that only a call's own page shows; a list of a hundred whole outputs would be megabytes.
HEAVY = ["input", "input_raw", "output", "decision", "side_effects"]


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
        name = self.value() or ""
        if "\x00" in name:
            # PostgreSQL has no such text.
            return queryset.none()
        return queryset.filter(tool_name=name) if name else queryset


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
        return queryset.filter(id__gte=first_id_at(datetime.now(UTC) - period[1])) if period else queryset


def _sheet(text: str) -> str:
    return format_html('<pre class="whitespace-pre-wrap break-words font-mono text-xs">{}</pre>', text)


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin):
    """Every call of every tenant, newest first."""

    list_display = ("created_at", "name", "state", "tenant", "user", "line", "duration")
    list_display_links = ("created_at", "name")
    list_filter = ("tenant", ToolFilter, "status", "error_code", PeriodFilter)
    list_filter_submit = True
    list_select_related = ("tenant", "user")
    search_fields = ("id", "tool_name", "user__username", "error_message")
    search_help_text = "A call's or run's id, or words in the tool's name, the username or the error"
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ["id", "name", "outcome", "tier", "tenant", "user", "line"]}),
        ("Arguments and output", {"fields": ["arguments", "result", "effects"]}),
        ("Error", {"fields": ["error_code", "error", "error_field"]}),
        ("Gates", {"fields": ["gates"]}),
        ("Time", {"fields": ["created_at", "queued_at", "started_at", "finished_at", "duration", "attempt", "fence"]}),
        ("Place", {"fields": ["conversation_id", "run_id", "message_id", "turn", "position"]}),
        ("Hashes", {"fields": ["params_hash", "output_hash"]}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        """Never the key of the commitments, and the payload only on a call's own page."""
        calls: QuerySet[ToolCall] = super().get_queryset(request).defer("row_key")
        match = request.resolver_match
        return calls.defer(*HEAVY) if match and match.url_name == "audit_toolcall_changelist" else calls

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ToolCall], search_term: str
    ) -> tuple[QuerySet[ToolCall], bool]:
        """An id is looked up; anything else is searched for as it stands."""
        words = search_term.strip()
        if not words or "\x00" in words:
            return queryset.none() if words else queryset, False
        try:
            identity = uuid.UUID(words)
        except ValueError:
            found = (
                Q(tool_name__icontains=words) | Q(user__username__icontains=words) | Q(error_message__icontains=words)
            )
            return queryset.filter(found), False
        return queryset.filter(Q(id=identity) | Q(run_id=identity)), False

    @admin.display(description="tool", ordering="tool_name")
    def name(self, call: ToolCall) -> str:
        """The tool's name, as it was asked for."""
        return visible(call.tool_name)[:80]

    @display(description="status", label=LABELS)  # type: ignore[untyped-decorator]
    def state(self, call: ToolCall) -> tuple[str, str]:
        """The status, or the kind of error."""
        return call.status, status_words(call)

    @admin.display(description="status")
    def outcome(self, call: ToolCall) -> str:
        """The status in words."""
        return status_words(call)

    @admin.display(description="display")
    def line(self, call: ToolCall) -> str:
        """The call's one line for people."""
        return visible(call.display or call.error_message or "")[:120]

    @admin.display(description="took")
    def duration(self, call: ToolCall) -> str:
        """The time it took."""
        return took(call.execution_time_ms)

    @admin.display(description="error message")
    def error(self, call: ToolCall) -> str:
        """The whole message."""
        return visible(call.error_message)

    @admin.display(description="arguments")
    def arguments(self, call: ToolCall) -> str:
        """The arguments as JSON, or as they came when they were none."""
        return _sheet(visible(call.input_raw) if call.input_raw is not None else pretty(call.input))

    @admin.display(description="output")
    def result(self, call: ToolCall) -> str:
        """The output as JSON."""
        return _sheet(pretty(call.output))

    @admin.display(description="made or changed")
    def effects(self, call: ToolCall) -> str:
        """The side effects as JSON."""
        return _sheet(pretty(call.side_effects))

    @admin.display(description="answers")
    def gates(self, call: ToolCall) -> str:
        """Each gate's answer, in order, as JSON."""
        return _sheet(pretty(call.decision))


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    """The ledger as it was appended to."""

    list_display = ("seq", "created_at", "kind", "tenant", "call_id")
    list_filter = ("tenant", "kind")
    list_select_related = ("tenant",)
    search_fields = ("call_id",)
    search_help_text = "A call's id"
    ordering = ("-seq",)
    fields = ("seq", "created_at", "kind", "version", "tenant", "call_id", "commitment_hex")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LedgerEntry], search_term: str
    ) -> tuple[QuerySet[LedgerEntry], bool]:
        """The entries of the call with that id."""
        if not search_term.strip():
            return queryset, False
        try:
            return queryset.filter(call_id=uuid.UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False

    @admin.display(description="commitment")
    def commitment_hex(self, entry: LedgerEntry) -> str:
        """The HMAC-SHA-256, in hex."""
        return bytes(entry.commitment).hex()
