"""People and their memberships in the admin."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from unfold.admin import TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.members import memberships
from tenants.members.errors import LastOwner
from tenants.models import (
    Membership,
    Role,
    User,
)
from tenants.people import recorded
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin


class MembershipFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    """Memberships that are edited together; a tenant that has an active owner keeps one."""

    def clean(self) -> None:
        """Refuse to demote or remove the last active owner."""
        super().clean()
        ended: dict[Any, set[Any]] = {}
        added = set()
        for form in self.initial_forms + self.extra_forms:
            given, row = getattr(form, "cleaned_data", {}), form.instance
            stays = given.get("role") == Role.OWNER and not given.get("DELETE")
            if form.initial.get("role") == Role.OWNER and not stays:
                ended.setdefault(row.tenant_id, set()).add(row.pk)
            elif stays and form.initial.get("role") != Role.OWNER and row.user_id and row.user.is_active:
                added.add(row.tenant_id)
        for tenant_id, ids in ended.items():
            if tenant_id not in added and memberships.owners(tenant_id, besides=ids) == 0:
                raise forms.ValidationError(LastOwner().detail)


class MembershipInline(TabularInline):
    """Who is in a tenant, or where a user is a member."""

    model = Membership
    formset = MembershipFormSet
    extra = 0
    autocomplete_fields = ("user", "tenant")
    readonly_fields = ("created_at",)


@admin.register(User)
class PersonAdmin(RecordedAdmin, UserAdmin):  # type: ignore[type-arg]
    """Accounts. Memberships say what they may do; a superuser operates the whole installation."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    search_fields = ("username", "email")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ["username", "password", "email"]}),
        ("Access", {"fields": ["is_active", "is_staff", "is_superuser"]}),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    )
    inlines = (MembershipInline,)

    def said(self, row: User) -> Iterable[Said]:
        """What the account is in its tenants."""
        return recorded.members(row)
