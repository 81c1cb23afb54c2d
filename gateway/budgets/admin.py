"""Budgets of every tenant, and what was used, for operators."""

from collections.abc import Iterable

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from gateway.budgets import changes
from gateway.budgets.models import Budget, TurnUsage
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin


@admin.register(Budget)
class BudgetAdmin(RecordedAdmin):
    """What tenants, members, agents and keys may spend."""

    list_display = ("tenant", "user", "agent", "key", "limit", "unit", "window")
    list_filter = ("unit", "window")
    list_select_related = ("tenant", "user", "agent", "key")
    autocomplete_fields = ("tenant",)
    raw_id_fields = ("user", "agent", "key")
    readonly_fields = ("created_at",)

    def said(self, row: Budget) -> Iterable[Said]:
        """Whose it is, and its limit."""
        return [changes.said(row)]


@admin.register(TurnUsage)
class TurnUsageAdmin(ModelAdmin):
    """What turns used: nobody changes it."""

    list_display = ("at", "tenant", "user", "model", "input_tokens", "output_tokens", "cost", "estimated")
    list_filter = ("estimated",)
    list_select_related = ("tenant", "user")
    search_fields = ("=run_id", "model")
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: TurnUsage | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: TurnUsage | None = None) -> bool:
        """Never: retention does."""
        return False
