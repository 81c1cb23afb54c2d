"""A tenant's word on tools in the admin: settings and grants. Notes and tasks are their users' own, and not here."""

from django.contrib import admin
from unfold.admin import ModelAdmin

from tools.models import Grant, ToolSetting


@admin.register(ToolSetting)
class ToolSettingAdmin(ModelAdmin):
    """Whether a tenant lets a tool be called, and how often."""

    list_display = ("tool_name", "tenant", "enabled", "rate")
    list_filter = ("tenant", "enabled")
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
