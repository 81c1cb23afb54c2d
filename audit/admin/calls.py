"""The tool calls in the admin, read-only."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from unfold.decorators import display

from audit.admin import ledger
from audit.admin.base import ReadOnlyAdmin, json_sheet, sheet
from audit.admin.filters import OutcomeFilter, PeriodFilter, ToolFilter, asked
from audit.history import calls, filters, reads
from audit.models import Erasure, LedgerEntry, ToolCall
from audit.templatetags.audit_text import gate_words, took, visible
from audit.templatetags.history_tags import outcome_tone, outcome_words, sentence, spans
from tenants.models import User
from tenants.tenant_filter import BY_TENANT

__all__ = ["ReadOnlyAdmin", "ToolCallAdmin", "ledger"]

LABELS = {"good": "success", "bad": "danger", "kept": "warning", "wait": "warning", "busy": "info"}
GATE = '<tr><td class="pr-3">{}</td><td class="pr-3">{}</td><td>{}</td></tr>'
# Columns that only a call's own page shows; a list of a hundred whole outputs would be megabytes.
HEAVY = ("input", "input_raw", "approved_input", "output", "decision", "resumed_decision", "side_effects")


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin):
    """Every call of every tenant, newest first; each look is recorded."""

    list_display = ("created_at", "name", "state", "tenant", "user", "line", "duration")
    list_display_links = ("created_at", "name")
    list_filter = (BY_TENANT, ToolFilter, OutcomeFilter, "error_code", PeriodFilter)
    list_filter_submit = True
    list_select_related = ("tenant", "user")
    search_fields = ("id",)
    search_help_text = "A call's or run's id, a username, or words in the tool's name, the result or the error"
    ordering = ("-id",)
    sortable_by = ()
    fieldsets = (
        (None, {"fields": ["id", "name", "outcome", "line", "erasure", "tier", "tenant", "user"]}),
        ("Arguments and output", {"fields": ["arguments", "approved_arguments", "result", "effects"]}),
        ("Error", {"fields": ["error_code", "error", "error_field"]}),
        ("Gates and approval", {"fields": ["gates", "approval", "gates_again"]}),
        ("Time", {"fields": ["created_at", "queued_at", "started_at", "finished_at", "times", "attempt", "fence"]}),
        ("Place", {"fields": ["origin", "conversation_id", "run", "message_id", "turn", "position"]}),
        ("Receipt", {"fields": ["params_hash", "approved_params_hash", "output_hash", "seal"]}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        """Never the key of the commitments, and the payload only on a call's own page."""
        found: QuerySet[ToolCall] = filters.marked_erased(super().get_queryset(request)).defer("row_key")
        match = request.resolver_match
        return found.defer("row_key", *HEAVY) if match and match.url_name == "audit_toolcall_changelist" else found

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ToolCall], search_term: str
    ) -> tuple[QuerySet[ToolCall], bool]:
        """Look up an id or a username; search for anything else as given."""
        words = search_term.strip()
        if not words or "\x00" in words:
            return queryset.none() if words else queryset, False
        try:
            identity = uuid.UUID(words)
        except ValueError:
            person = User.objects.filter(username=words).values_list("id", flat=True).first()
            wanted = calls.Filters(user=person) if person else asked(request, words)
            return calls.narrowed(queryset, wanted), False
        return queryset.filter(Q(id=identity) | Q(run_id=identity)), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; the look is recorded before it is rendered."""
        response: HttpResponse = super().changelist_view(request, extra_context)
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown:
            reads.of_calls(
                reader_id=_reader(request),
                calls=shown["cl"].result_list,
                action=reads.Action.LIST,
                via="admin",
                filters=request.GET.dict(),
            )
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One call; the look is recorded before it is rendered."""
        response: HttpResponse = super().changeform_view(request, object_id, form_url, extra_context)
        call = (getattr(response, "context_data", None) or {}).get("original")
        if call is not None:
            reads.of_calls(
                reader_id=_reader(request), calls=[call], action=reads.Action.DETAIL, via="admin", call_id=call.id
            )
        return response

    @admin.display(description="tool")
    def name(self, call: ToolCall) -> str:
        """The tool's name, as it was asked for."""
        return visible(call.tool_name)[:80]

    @display(description="outcome", label=LABELS)  # type: ignore[untyped-decorator]
    def state(self, call: ToolCall) -> tuple[str, str]:
        """The outcome in words, with its colour."""
        return outcome_tone(call), outcome_words(call)

    @admin.display(description="outcome")
    def outcome(self, call: ToolCall) -> str:
        """The outcome in words."""
        return outcome_words(call)

    @admin.display(description="what happened")
    def line(self, call: ToolCall) -> str:
        """The call's one line for people."""
        return sentence(call)

    @admin.display(description="took")
    def duration(self, call: ToolCall) -> str:
        """The time it took."""
        return took(call.execution_time_ms)

    @admin.display(description="error message")
    def error(self, call: ToolCall) -> str:
        """The message."""
        return sheet(call.error_message or "")

    @admin.display(description="arguments")
    def arguments(self, call: ToolCall) -> str:
        """The arguments as JSON, or as received when they were not JSON."""
        return sheet(call.input_raw) if call.input_raw is not None else json_sheet(call.input)

    @admin.display(description="arguments, as an approver changed them")
    def approved_arguments(self, call: ToolCall) -> str:
        """What ran instead."""
        return "" if call.approved_input is None else json_sheet(call.approved_input)

    @admin.display(description="output")
    def result(self, call: ToolCall) -> str:
        """The output as JSON."""
        return json_sheet(call.output)

    @admin.display(description="made or changed")
    def effects(self, call: ToolCall) -> str:
        """The side effects as JSON."""
        return json_sheet(call.side_effects)

    @admin.display(description="what the gates said")
    def gates(self, call: ToolCall) -> str:
        """Each gate's answer, in order."""
        return _gates(call.decision)

    @admin.display(description="what they said when it went on")
    def gates_again(self, call: ToolCall) -> str:
        """Each gate's answer after the approval."""
        return _gates(call.resumed_decision or [])

    @admin.display(description="approval")
    def approval(self, call: ToolCall) -> str:
        """The request that it waits or waited for."""
        if call.approval_id is None:
            return "None was needed."
        address = reverse("admin:approvals_approvalrequest_change", args=[call.approval_id])
        return format_html('<a class="underline" href="{}">Who decided, when and why</a>', address)

    @admin.display(description="where the time went")
    def times(self, call: ToolCall) -> str:
        """Waiting, in the queue, running; and what the tool itself took."""
        parts = [f"{part.words}: {part.took}" for part in spans(call)]
        return ", ".join([*parts, f"the tool took {took(call.execution_time_ms)}"] if call.started_at else parts)

    @admin.display(description="run")
    def run(self, call: ToolCall) -> str:
        """The run's id, and its timeline; nothing for a call without a chat."""
        if call.run_id is None:
            return "-"
        try:
            address = reverse("run-timeline", args=[call.run_id])
        except NoReverseMatch:
            return str(call.run_id)
        return format_html('{} <a class="underline" href="{}">Timeline</a>', call.run_id, address)

    @admin.display(description="seal")
    def seal(self, call: ToolCall) -> str:
        """Where its entries are in the signed log."""
        entries = LedgerEntry.objects.filter(tenant_id=call.tenant_id, call_id=call.id).order_by("seq")
        return (
            format_html_join("", "<div>{}: {}</div>", ((each.kind, _place(each)) for each in entries))
            or "The ledger says nothing of this call."
        )

    @admin.display(description="erased")
    def erasure(self, call: ToolCall) -> str:
        """The erasure of its payload."""
        entry = LedgerEntry.objects.filter(tenant_id=call.tenant_id, call_id=call.id, kind="erased").last()
        erased_by = entry.record_id if entry else None
        found = Erasure.objects.filter(id=erased_by).select_related("actor").first() if erased_by else None
        if found is None:
            return "Yes" if call.erased else "No"  # type: ignore[attr-defined]
        by = found.actor.username if found.actor else "retention"
        return f"{found.created_at:%Y-%m-%d %H:%M} UTC, {found.scope}, by {by}"


def _gates(answers: list[dict[str, Any]]) -> str:
    rows = (
        ("✓" if answer.get("ok") else "✗", gate_words(answer), visible(str(answer.get("log") or "")[:1000]))
        for answer in answers
    )
    return format_html('<table class="text-sm">{}</table>', format_html_join("", GATE, rows))


def _place(entry: LedgerEntry) -> str:
    return "not sealed yet" if entry.leaf_index is None else f"entry {entry.leaf_index} of the log"


def _reader(request: HttpRequest) -> uuid.UUID:
    return uuid.UUID(str(request.user.pk))
