"""API keys in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from tenants.models import (
    ApiKey,
    Membership,
)
from tenants.people import keys, recorded
from tenants.people.changes import Said, record_all
from tenants.people.principal import SCOPES, scopes_of
from tenants.tenant_filter import BY_TENANT


class KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new key for a member."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in sorted(frozenset().union(*SCOPES.values()))],
        required=False,
        help_text="None chosen: everything that the role allows.",
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "user", "name", "scopes", "expires_at")

    def clean(self) -> dict[str, Any]:
        """A key is a member's, and may have no scope beyond their role."""
        cleaned = super().clean() or {}
        tenant, user = cleaned.get("tenant"), cleaned.get("user")
        if tenant is None or user is None:
            return cleaned
        membership = cleaned["membership"] = Membership.objects.filter(tenant=tenant, user=user).first()
        if membership is None:
            self.add_error("user", f"{user.username} is no member of {tenant.slug}.")
        elif beyond := sorted(set(cleaned.get("scopes") or []) - scopes_of(membership.role)):
            self.add_error("scopes", f"The role {membership.role} does not allow {', '.join(beyond)}.")
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Keys are made, shown once, and revoked; nothing else about them can change."""

    list_display = ("prefix", "name", "user", "tenant", "scopes", "expires_at", "last_used_at", "revoked_at")
    list_filter = (BY_TENANT,)
    list_filter_submit = True
    list_select_related = ("tenant", "user")
    search_fields = ("prefix", "name", "user__username")
    # Searched in: a choice among all members of all tenants would be megabytes.
    autocomplete_fields = ("tenant", "user")
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Only a new key has a form."""
        return super().get_form(request, obj, change, **({} if change else {"form": KeyForm}), **kwargs)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        """The fields of a new key, or what is known of an existing one."""
        if obj is None:
            return ["tenant", "user", "name", "scopes", "expires_at"]
        return [*self.list_display, "created_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button; the page with the key follows it."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """The list has actions; a key's own page is read-only."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Never: a revoked key stays, so that its past use can be explained."""
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Make the key; its text is stored only until the answer to this request."""
        given = form.cleaned_data
        made, request.new_key = keys.create(  # type: ignore[attr-defined]
            membership=given["membership"],
            name=given["name"],
            scopes=given["scopes"] or None,
            expires_at=given["expires_at"],
        )
        obj.__dict__ |= made.__dict__

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The key on a page of its own: a message would leave it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new key",
            "opts": self.opts,
            "key": request.new_key,  # type: ignore[attr-defined]
            "row": obj,
        }
        response = TemplateResponse(request, "admin/tenants/apikey/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke the chosen keys")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke these keys."""
        with transaction.atomic(using=router.db_for_write(ApiKey)):
            before = [recorded.KEY.of(key) for key in queryset.select_for_update(of=("self",)).filter(revoked_at=None)]
            revoked = ApiKey.objects.filter(pk__in=[said.target_id for said in before])
            count = revoked.update(revoked_at=timezone.now())
            after: dict[Any, Said] = {key.pk: recorded.KEY.of(key) for key in revoked.all()}
            record_all((said, after.get(said.target_id)) for said in before)
        self.message_user(request, f"{count} revoked.", messages.SUCCESS)
