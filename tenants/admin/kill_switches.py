"""Kill switches in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from tenants.errors import Refused
from tenants.models import (
    KillSwitch,
)
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch
from tenants.tenant_filter import BY_TENANT, WITHOUT_TENANT


class SwitchForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new kill switch, checked as over REST."""

    class Meta:
        model = KillSwitch
        fields = ("tenant", "kind", "target", "reason", "until")

    def clean(self) -> dict[str, Any]:
        """What would stop nothing is refused."""
        given = super().clean() or {}
        if not self.errors:
            try:
                switches.check(_tenant_of(given), _switch(given), by_operator=True)
            except Refused as refused:
                self.add_error(refused.field if refused.field in self.fields else None, refused.detail)
        return given


def _switch(given: dict[str, Any]) -> NewSwitch:
    return NewSwitch(given["kind"], given["target"], given["reason"], given["until"])


def _tenant_of(given: dict[str, Any]) -> Any:
    return given["tenant"].pk if given["tenant"] else None


@admin.register(KillSwitch)
class KillSwitchAdmin(ModelAdmin):
    """What is stopped, in every tenant: put on and ended, and never changed."""

    form = SwitchForm
    list_display = ("kind", "target", "tenant", "reason", "until", "by_operator", "set_by", "created_at")
    list_filter = ("kind", "by_operator", BY_TENANT, WITHOUT_TENANT)
    list_filter_submit = True
    list_select_related = ("tenant", "set_by")
    search_fields = ("target", "reason")
    autocomplete_fields = ("tenant",)

    def has_change_permission(self, request: HttpRequest, obj: KillSwitch | None = None) -> bool:
        """Another one is put on instead."""
        return False

    def save_model(self, request: HttpRequest, obj: KillSwitch, form: Any, change: bool) -> None:
        """Put it on, as the operator's."""
        given = form.cleaned_data
        obj.__dict__ |= switches.put_on(_tenant_of(given), _switch(given), by_operator=True).__dict__

    def delete_model(self, request: HttpRequest, obj: KillSwitch) -> None:
        """End it."""
        switches.end_any(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[KillSwitch]) -> None:
        """End those that were chosen."""
        for each in queryset:
            switches.end_any(each.pk)
