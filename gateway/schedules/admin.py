"""Schedules of every tenant, for operators: seen without what they ask, paused and deleted."""

from collections.abc import Iterable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway.schedules import changes
from gateway.schedules.models import Schedule
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin


@admin.register(Schedule)
class ScheduleAdmin(RecordedAdmin):
    """Nobody changes another one's schedule; operators pause and delete."""

    list_display = ("tenant", "user", "agent", "cron", "tz", "enabled", "next_at")
    list_filter = ("enabled",)
    list_select_related = ("tenant", "user", "agent")
    search_fields = ("=id", "user__username", "tenant__slug")
    fields = (*list_display, "paused_because", "call_id", "created_at")
    readonly_fields = fields
    actions = ("pause",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: a schedule is its person's."""
        return False

    def said(self, row: Schedule) -> Iterable[Said]:
        """When it is due, and whose it is."""
        return [changes.said(row)]

    @admin.action(description="Pause the chosen schedules", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Their owners can switch them on again."""
        for row in queryset:
            changes.pause(row, "The operator paused it.")
