"""How people come in, in the admin: confirmed domains, single sign-on, and sessions."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from tenants.models import (
    ConfirmedDomain,
    SignOnProvider,
    UserSession,
)
from tenants.people import recorded
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT


@admin.register(ConfirmedDomain)
class ConfirmedDomainAdmin(RecordedAdmin):
    """Whose domains are: it decides where people with such addresses log in."""

    list_display = ("domain", "tenant", "created_at")
    list_filter = (BY_TENANT,)
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("domain",)
    autocomplete_fields = ("tenant",)
    fields = ("domain", "tenant")

    def said(self, row: ConfirmedDomain) -> Iterable[Said]:
        """The domain."""
        return [recorded.DOMAIN.of(row)]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Domains are compared in lower case."""
        form = super().get_form(request, obj, change, **kwargs)
        form.clean_domain = lambda filled: filled.cleaned_data["domain"].strip().lower().rstrip(".")
        return form

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ConfirmedDomain | None:
        """None for a text that PostgreSQL knows no such of."""
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def has_change_permission(self, request: HttpRequest, obj: ConfirmedDomain | None = None) -> bool:
        """A domain is removed and confirmed anew."""
        return False


@admin.register(SignOnProvider)
class SignOnProviderAdmin(ModelAdmin):
    """What owners say of their providers, without secrets; owners change it."""

    list_display = ("domain", "tenant", "issuer", "creates_members", "enabled", "updated_at")
    list_filter = (BY_TENANT,)
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("domain", "issuer")
    exclude = ("client_secret",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Owners add them."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: SignOnProvider | None = None) -> bool:
        """Owners change them."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: SignOnProvider | None = None) -> bool:
        """Owners remove them; an operator removes the confirmation of their domain."""
        return False


@admin.register(UserSession)
class UserSessionAdmin(ModelAdmin):
    """Where people are logged in; deleting one logs out there."""

    list_display = ("user", "address", "agent", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("session_key",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They begin with a log-in."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: UserSession | None = None) -> bool:
        """Nothing of them is for anybody to write."""
        return False

    def delete_model(self, request: HttpRequest, obj: UserSession) -> None:
        """The session itself goes, and this row with it."""
        Session.objects.filter(session_key=obj.session_key).delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserSession]) -> None:
        """The same for several."""
        Session.objects.filter(session_key__in=list(queryset.values_list("session_key", flat=True))).delete()
