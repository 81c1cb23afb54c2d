"""A tenant's word on tools in the admin: settings and grants. Notes and tasks are their users' own, and not here."""

from typing import Any

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin

from tools.interface import Tier
from tools.models import Grant, ToolSetting
from tools.registry import registry


class ToolSettingForm(forms.ModelForm):  # type: ignore[type-arg]
    """A tenant's word on a tool."""

    def clean(self) -> dict[str, Any]:
        """A tier that would change nothing is refused, lest somebody rely on it."""
        cleaned: dict[str, Any] = super().clean() or {}
        name, tier = cleaned.get("tool_name", ""), cleaned.get("tier")
        tool = registry().get(name)
        if tier and tool is None:
            self.add_error("tool_name", "There is no such tool, so its tier cannot be raised.")
        elif tier and tool is not None and Tier(tier).rank <= tool.tier.rank:
            self.add_error("tier", f"{name} declares {tool.tier}: this changes nothing. A tier can only be raised.")
        return cleaned


@admin.register(ToolSetting)
class ToolSettingAdmin(ModelAdmin):
    """Whether a tenant lets a tool be called, how often, in which tier, and who has to approve it."""

    form = ToolSettingForm
    list_display = ("tool_name", "tenant", "enabled", "rate", "tier", "approvals_needed", "approval_hours")
    list_filter = ("tenant", "enabled", "tier")
    list_select_related = ("tenant",)
    search_fields = ("tool_name",)
    autocomplete_fields = ("tenant",)


@admin.register(Grant)
class GrantAdmin(ModelAdmin):
    """Who may, or may not, use a tool whatever their role allows."""

    list_display = ("tool_name", "tenant", "effect", "user", "role", "created_at")
    list_filter = ("tenant", "effect", "role")
    list_select_related = ("tenant", "user")
    search_fields = ("tool_name", "user__username")
    autocomplete_fields = ("tenant", "user")
    readonly_fields = ("created_at",)
