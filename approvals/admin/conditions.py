"""Access conditions and alert levels in the admin; the service checks and records what is saved."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextareaWidget

from approvals.admin.refused import ShowsRefusals
from approvals.errors import InvalidRule
from approvals.models import AccessCondition, AlertLevel
from approvals.rules import access_conditions
from approvals.rules.condition_field import ConditionField
from audit.templatetags.audit_text import pretty
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT

NEW = ["tenant", "name", "tool_name", "agent", "condition", "time_zone", "enabled"]
_GIVEN = ("name", "agent", "condition", "time_zone", "enabled")


class ConditionForm(forms.ModelForm):  # type: ignore[type-arg]
    """A condition, checked as over REST."""

    condition = ConditionField(
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 12, "spellcheck": "false"}),
        help_text='A JSON Schema that {"args", "context"} must satisfy for a call to go on.',
    )

    class Meta:
        model = AccessCondition
        fields = NEW

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            return
        self.initial["condition"] = pretty(self.instance.condition)

    def clean(self) -> dict[str, Any]:
        """Refuse what the service refuses, beside the field at fault."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        if self.instance._state.adding:
            self.given = {"tool": cleaned["tool_name"], **{name: cleaned[name] for name in NEW if name in _GIVEN}}
            try:
                access_conditions.read(cleaned["tenant"].pk, self.given)
            except InvalidRule as refusal:
                self.add_error("tool_name" if refusal.field == "tool" else refusal.field, refusal.detail)
        return cleaned


@admin.register(AccessCondition)
class AccessConditionAdmin(ShowsRefusals, RecordedAdmin):
    """Every tenant's access conditions."""

    list_display = ("name", "tenant", "tool_name", "agent", "time_zone", "enabled", "version")
    list_filter = (BY_TENANT, "enabled")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("name", "tool_name")
    autocomplete_fields = ("tenant",)
    form = ConditionForm

    def said(self, row: AccessCondition) -> Iterable[Said]:
        """What it demands, and of what."""
        return [access_conditions.CONDITION.of(row)]

    def get_fields(self, request: HttpRequest, obj: AccessCondition | None = None) -> list[str]:
        """What a new one is made of, or what is known of an old one."""
        return NEW if obj is None else [*NEW, "version", "created_at", "updated_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: AccessCondition | None = None) -> list[str]:
        """What a condition is about never changes."""
        return [] if obj is None else [name for name in self.get_fields(request, obj) if not _changes(name)]

    def save_model(self, request: HttpRequest, obj: AccessCondition, form: Any, change: bool) -> None:
        """Through the service, which gives it another version and records it."""
        if change:
            given = {name: form.cleaned_data[name] for name in form.changed_data if _changes(name)}
            made = access_conditions.change(obj.tenant_id, obj.id, given) if given else obj
        else:
            made = access_conditions.add(obj.tenant_id, form.given)
        obj.__dict__ |= made.__dict__


class LevelForm(forms.ModelForm):  # type: ignore[type-arg]
    """A tenant's level."""

    class Meta:
        model = AlertLevel
        fields = ["tenant", "level", "reason"]


@admin.register(AlertLevel)
class AlertLevelAdmin(RecordedAdmin):
    """Every tenant's alert level; a tenant that is not here has 0."""

    list_display = ("tenant", "level", "reason", "updated_at")
    list_filter = ("level",)
    list_select_related = ("tenant",)
    autocomplete_fields = ("tenant",)
    form = LevelForm

    def said(self, row: AlertLevel) -> Iterable[Said]:
        """The level, and why."""
        return [access_conditions.ALERT.of(row)]

    def get_readonly_fields(self, request: HttpRequest, obj: AlertLevel | None = None) -> list[str]:
        """A level stays its tenant's."""
        return [] if obj is None else ["tenant"]


def _changes(name: str) -> bool:
    return name in access_conditions.CHANGEABLE
