"""Invitations in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from tenants.members import invitations
from tenants.members.errors import AlreadyMember, InvalidAddress
from tenants.models import (
    Invitation,
)
from tenants.tenant_filter import BY_TENANT


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new invitation; its address is read as the pages read it."""

    days = forms.IntegerField(min_value=1, max_value=invitations.LONGEST_DAYS, initial=invitations.DAYS)

    class Meta:
        model = Invitation
        fields = ("tenant", "role", "email")

    def clean(self) -> dict[str, Any]:
        """An address that the pages would take, of nobody who is a member already."""
        cleaned = super().clean() or {}
        if cleaned.get("tenant") and "email" in cleaned:
            try:
                cleaned["email"] = invitations.address_for(cleaned["tenant"].pk, cleaned["email"])
            except (InvalidAddress, AlreadyMember) as refused:
                self.add_error("email", refused.detail)
        return cleaned


@admin.register(Invitation)
class InvitationAdmin(ModelAdmin):
    """Invitations into any tenant: made, shown once, and revoked; nothing else about them can change."""

    list_display = ("tenant", "role", "email", "created_by", "created_at", "expires_at", "accepted_by", "revoked_at")
    list_filter = (BY_TENANT, "role")
    list_filter_submit = True
    list_select_related = ("tenant", "created_by", "accepted_by")
    search_fields = ("email",)
    autocomplete_fields = ("tenant",)
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: Invitation | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Only a new one has a form."""
        return super().get_form(request, obj, change, **({} if change else {"form": InvitationForm}), **kwargs)

    def get_fields(self, request: HttpRequest, obj: Invitation | None = None) -> list[str]:
        """The fields of a new invitation, or what is known of an existing one."""
        return ["tenant", "role", "email", "days"] if obj is None else [*self.list_display, "accepted_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button; the page with the link follows it."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        """The list has actions; an invitation's own page is read-only."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        """Never: one that has ended stays, so that it can be explained who came in by it."""
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Make it; its link is stored only until the answer to this request."""
        given = form.cleaned_data
        made, request.new_link = invitations.make(  # type: ignore[attr-defined]
            given["tenant"].pk, None, role=given["role"], email=given["email"], days=given["days"]
        )
        obj.__dict__ |= made.__dict__

    def response_add(self, request: HttpRequest, obj: Invitation, post_url_continue: str | None = None) -> HttpResponse:
        """The link on a page of its own: a message would leave it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new invitation",
            "opts": self.opts,
            "link": request.new_link,  # type: ignore[attr-defined]
            "row": obj,
        }
        response = TemplateResponse(request, "admin/tenants/invitation/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke the chosen invitations")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        """Revoke these invitations."""
        chosen = list(queryset.values_list("tenant_id", "pk"))
        for tenant_id, invitation_id in chosen:
            invitations.revoke(tenant_id, invitation_id)
        self.message_user(request, f"{len(chosen)} can be accepted no more.", messages.SUCCESS)
