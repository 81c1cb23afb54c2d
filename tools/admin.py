"""A tenant's word on tools in the admin: settings and grants. Notes and tasks are their users' own, and not here."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.decorators import action

from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT
from tools import configuration
from tools.gates.rate_counter import readable
from tools.interface import Tier, Tool
from tools.models import Grant, ToolSetting
from tools.registry import registry
from tools.settings.recorded import GRANT, SETTING


class ToolSettingForm(forms.ModelForm):  # type: ignore[type-arg]
    """A tenant's word on a tool."""

    def clean(self) -> dict[str, Any]:
        """Refuses a tier that would change nothing, lest somebody rely on it, and a rate that cannot be counted."""
        cleaned: dict[str, Any] = super().clean() or {}
        if (rate := cleaned.get("rate", "")) and not readable(rate):
            self.add_error("rate", f'{rate} is no rate; write calls per second, minute, hour or day, such as "10/m".')
        name, tier = cleaned.get("tool_name", ""), cleaned.get("tier")
        tool = registry().get(name)
        if tier and tool is None:
            self.add_error("tool_name", "There is no such tool, so its tier cannot be raised.")
        elif tier and tool is not None and Tier(tier).rank < _least_said(tool):
            self.add_error("tier", f"{name} declares {tool.tier}: this changes nothing. A tier can only be raised.")
        return cleaned


def _least_said(tool: Tool) -> int:
    """The rank of the lowest tier that changes something of the tool."""
    return tool.tier.rank + (tool.least_tier is None)


@admin.register(ToolSetting)
class ToolSettingAdmin(RecordedAdmin):
    """Whether a tenant lets a tool be called, how often, in which tier, and who has to approve it."""

    form = ToolSettingForm
    list_display = ("tool_name", "tenant", "enabled", "rate", "tier", "approvals_needed", "approval_seconds")
    list_filter = (BY_TENANT, "enabled", "tier")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("tool_name",)
    autocomplete_fields = ("tenant",)
    actions_list = ("installed",)

    def said(self, row: ToolSetting) -> Iterable[Said]:
        """What the tenant says of the tool."""
        return [SETTING.of(row)]

    @action(description="Installed tools", url_path="installed", permissions=["installed"])
    def installed(self, request: HttpRequest) -> HttpResponse:
        """Every tool and its settings; of a secret only whether it is set."""
        rows = [row for tool in registry().all() for row in _rows(tool)]
        page = {**self.admin_site.each_context(request), "title": "Installed tools", "rows": rows}
        return TemplateResponse(request, "admin/tools/toolsetting/installed.html", page)

    def has_installed_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Whoever may see what tenants say about tools."""
        return bool(self.has_view_permission(request))


def _rows(tool: Tool) -> list[dict[str, str]]:
    values = registry().settings(tool.name)
    shown = {"tool": tool.name, "tier": tool.tier.value, "name": "", "description": "", "value": ""}
    return [
        shown | {"name": each.name, "description": each.description, "value": configuration.shown(each, values)}
        for each in tool.settings
    ] or [shown]


@admin.register(Grant)
class GrantAdmin(RecordedAdmin):
    """Who may, or may not, use a tool whatever their role allows."""

    list_display = ("tool_name", "tenant", "effect", "user", "role", "created_at")
    list_filter = (BY_TENANT, "effect", "role")
    list_filter_submit = True
    list_select_related = ("tenant", "user")
    search_fields = ("tool_name", "user__username")
    autocomplete_fields = ("tenant", "user")
    readonly_fields = ("created_at",)

    def said(self, row: Grant) -> Iterable[Said]:
        """To whom it gives or denies which tool."""
        return [GRANT.of(row)]
