"""Limits of requests in the admin."""

from collections.abc import Iterable

from django.contrib import admin
from django.http import HttpRequest

from tenants.limits.changes import LIMITS
from tenants.models import (
    RequestLimits,
)
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin


@admin.register(RequestLimits)
class RequestLimitsAdmin(RecordedAdmin):
    """Requests per minute of each tenant; the ceiling is the operator's."""

    list_display = ("tenant", "per_tenant", "per_person", "per_key", "ceiling", "updated_at")
    list_select_related = ("tenant",)
    autocomplete_fields = ("tenant",)
    fields = ("tenant", "per_tenant", "per_person", "per_key", "ceiling")

    def get_readonly_fields(self, request: HttpRequest, obj: RequestLimits | None = None) -> tuple[str, ...]:
        """Whose they are is said once."""
        return ("tenant",) if obj else ()

    def said(self, row: RequestLimits) -> Iterable[Said]:
        """All of them."""
        return [LIMITS.of(row)]
