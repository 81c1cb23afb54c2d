"""The ledger in the admin: entries, signed heads, keys, erasures, who read what, and who changed which setting."""

import uuid

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.admin.base import ReadOnlyAdmin, json_sheet, sheet
from audit.models import Checkpoint, Erasure, HistoryRead, LedgerEntry, LedgerKey, SettingChange
from audit.templatetags.audit_text import visible
from tenants.tenant_filter import BY_TENANT


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    """The ledger as it was appended to."""

    list_display = ("seq", "created_at", "kind", "tenant", "call_id", "leaf_index")
    list_filter = (BY_TENANT, "kind")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("call_id",)
    search_help_text = "A call's id"
    ordering = ("-seq",)
    sortable_by = ()
    fields = (
        *("seq", "created_at", "kind", "version", "tenant", "call_id", "record_id"),
        *("commitment_hex", "leaf_index", "tenant_index"),
    )

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


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    """The signed heads of the log."""

    list_display = ("size", "created_at", "origin", "witnessed_at")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("origin", "size", "root_hex", "created_at", "witnessed_at", "signed")

    @admin.display(description="root")
    def root_hex(self, checkpoint: Checkpoint) -> str:
        """The root hash, in hex."""
        return bytes(checkpoint.root).hex()

    @admin.display(description="note")
    def signed(self, checkpoint: Checkpoint) -> str:
        """The signed note."""
        return sheet(checkpoint.note)


@admin.register(LedgerKey)
class LedgerKeyAdmin(ReadOnlyAdmin):
    """The public keys that heads were signed with."""

    list_display = ("vkey", "created_at", "reason")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("vkey", "origin", "created_at", "reason", "endorsed")

    @admin.display(description="endorsement")
    def endorsed(self, key: LedgerKey) -> str:
        """The note that the key before it signed."""
        return sheet(key.endorsement) if key.endorsement else ""


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    """What was erased, by whom and why."""

    list_display = ("created_at", "tenant", "scope", "actor", "calls")
    list_filter = (BY_TENANT, "scope")
    list_filter_submit = True
    list_select_related = ("tenant", "actor")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("id", "created_at", "tenant", "scope", "subject_id", "low", "high", "actor", "calls", "why")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Erasure]:
        """Never the key of the commitments."""
        erasures: QuerySet[Erasure] = super().get_queryset(request).defer("row_key")
        return erasures

    @admin.display(description="reason")
    def why(self, erasure: Erasure) -> str:
        """The reason given."""
        return visible(erasure.reason)


@admin.register(HistoryRead)
class HistoryReadAdmin(ReadOnlyAdmin):
    """Who was shown calls that were made in other people's names."""

    list_display = ("created_at", "tenant", "reader", "action", "via", "calls")
    list_filter = (BY_TENANT, "action", "via")
    list_filter_submit = True
    list_select_related = ("tenant", "reader")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("id", "created_at", "tenant", "reader", "action", "via", "user_id", "call_id", "calls", "narrowed")

    def get_queryset(self, request: HttpRequest) -> QuerySet[HistoryRead]:
        """Never the key of the commitment."""
        readings: QuerySet[HistoryRead] = super().get_queryset(request).defer("row_key")
        return readings

    @admin.display(description="filters")
    def narrowed(self, reading: HistoryRead) -> str:
        """What the list was narrowed by."""
        return json_sheet(reading.filters)


@admin.register(SettingChange)
class SettingChangeAdmin(ReadOnlyAdmin):
    """Who changed which setting."""

    list_display = ("created_at", "tenant", "actor", "via", "target", "called", "action")
    list_filter = (BY_TENANT, "target", "action", "via")
    list_filter_submit = True
    list_select_related = ("tenant", "actor")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("id", "created_at", "tenant", "actor", "via", "target", "target_id", "called", "action", "what")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SettingChange]:
        """Never the key of the commitment."""
        found: QuerySet[SettingChange] = super().get_queryset(request).defer("row_key")
        return found

    @admin.display(description="name")
    def called(self, change: SettingChange) -> str:
        """What the setting was called."""
        return visible(change.name)

    @admin.display(description="changes")
    def what(self, change: SettingChange) -> str:
        """By field: [before, after]."""
        return json_sheet(change.changes)
