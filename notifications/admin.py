"""Webhooks of tenants in the admin, and what became of notices."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from approvals.models import ApprovalNotice, WebhookEndpoint
from approvals.notifications import webhooks
from audit.admin.calls import ReadOnlyAdmin
from tenants.people.encryption import encrypt
from tools.network import egress


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new endpoint; its secret is made, not given."""

    def clean_url(self) -> str:
        """Where a name leads is seen at each delivery; here, what the URL itself says."""
        url: str = self.cleaned_data["url"]
        try:
            egress.check(url)
        except egress.EgressRefused as refused:
            raise ValidationError(str(refused)) from None
        return url


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ModelAdmin):
    """Endpoints are made, their secret is shown once, and they are switched off and on; nothing else can change."""

    form = EndpointForm
    list_display = ("url", "tenant", "enabled", "disabled_because", "created_at")
    list_filter = ("tenant", "enabled")
    list_select_related = ("tenant",)
    search_fields = ("url",)
    autocomplete_fields = ("tenant",)

    def get_fields(self, request: HttpRequest, obj: WebhookEndpoint | None = None) -> list[str]:
        """What a new endpoint is made of, or what is known of an old one."""
        return ["tenant", "url"] if obj is None else ["tenant", "url", "enabled", "disabled_because", "created_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: WebhookEndpoint | None = None) -> list[str]:
        """An endpoint's secret belongs to its tenant and URL."""
        return [] if obj is None else ["tenant", "url", "disabled_because", "created_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button: after it comes the page with the secret."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_delete_permission(self, request: HttpRequest, obj: WebhookEndpoint | None = None) -> bool:
        """Never: an endpoint that is switched off stays, so that what it was sent can be explained."""
        return False

    def save_model(self, request: HttpRequest, obj: WebhookEndpoint, form: Any, change: bool) -> None:
        """A new endpoint gets its secret, whose text is kept only until the answer to this request."""
        if not change:
            request.new_secret = webhooks.new_secret()  # type: ignore[attr-defined]
            obj.secret = encrypt(request.new_secret)  # type: ignore[attr-defined]
        if obj.enabled:
            obj.disabled_because = ""
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: HttpRequest, obj: WebhookEndpoint, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The secret on a page of its own: a message would leave it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new webhook's secret",
            "opts": self.opts,
            "secret": request.new_secret,  # type: ignore[attr-defined]
        }
        response = TemplateResponse(request, "admin/approvals/webhookendpoint/made.html", context)
        response["Cache-Control"] = "no-store"
        return response


@admin.register(ApprovalNotice)
class ApprovalNoticeAdmin(ReadOnlyAdmin):
    """What was sent to whom, and what keeps the rest."""

    list_display = ("created_at", "tenant", "event", "status", "attempts", "due_at", "endpoint", "user", "problem")
    list_filter = ("tenant", "status", "event")
    list_select_related = ("tenant", "endpoint", "user")
