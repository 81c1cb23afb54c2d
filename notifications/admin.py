"""Targets of tenants in the admin, and what became of notifications."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminPasswordInput, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from audit.admin.base import ReadOnlyAdmin
from notifications import events
from notifications.channels import registry
from notifications.channels.interface import Accepted
from notifications.errors import InvalidTarget
from notifications.models import Notification, NotificationTarget
from notifications.targets import TARGET
from tenants.people.changes import Said
from tenants.people.encryption import encrypt
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT


class EventsField(forms.MultipleChoiceField):
    """At least one of the events that are declared."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            choices=lambda: [(each.name, f"{each.name} – {each.label}") for each in events.declared()],
            widget=forms.CheckboxSelectMultiple,
            help_text="Approvals are chosen at first; runs are many.",
            **options,
        )


class TargetForm(forms.ModelForm):  # type: ignore[type-arg]
    """An old target: its name, its events, and whether it gets any."""

    events = EventsField()


class NewTargetForm(TargetForm):
    """A new target of any channel; what was typed as its destination is read by the channel."""

    channel = forms.ChoiceField(
        choices=lambda: [(each.slug, each.label) for each in registry.channels()], widget=UnfoldAdminSelectWidget
    )
    accepted: Accepted | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        destination, chosen = self.fields["destination"], registry.find(str(self.data.get("channel", "")))
        secret = chosen is not None and chosen.typed_is_secret
        destination.widget = UnfoldAdminPasswordInput() if secret else UnfoldAdminTextInputWidget()
        destination.help_text = " ".join(f"{each.label}: {each.help}" for each in registry.channels())
        self.fields["events"].initial = [each.name for each in events.declared() if each.name.startswith("approval.")]

    def clean(self) -> dict[str, Any]:
        """What the channel makes of the destination."""
        super().clean()
        channel, typed = registry.find(self.cleaned_data.get("channel", "")), self.cleaned_data.get("destination")
        if channel is not None and typed:
            try:
                self.accepted = channel.accept(typed)
            except InvalidTarget as invalid:
                self.add_error("destination", ValidationError(str(invalid)))
            else:
                self.cleaned_data["destination"] = self.accepted.destination
        return self.cleaned_data


@admin.register(NotificationTarget)
class NotificationTargetAdmin(RecordedAdmin):
    """Targets are made, a secret that was made with one is shown once, and afterwards the destination never changes."""

    list_display = ("__str__", "destination", "tenant", "enabled", "disabled_because", "created_at")
    list_filter = (BY_TENANT, "channel", "enabled")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("name", "destination")
    autocomplete_fields = ("tenant",)

    def said(self, row: NotificationTarget) -> Iterable[Said]:
        """Which events it gets."""
        return [TARGET.of(row)]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """A new target's form asks for channel and destination."""
        return super().get_form(request, obj, change, form=NewTargetForm if obj is None else TargetForm, **options)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        """The model's own field, except that events are chosen from a list."""
        if db_field.name == "events":
            return EventsField()
        return super().formfield_for_dbfield(db_field, request, **options)

    def get_fields(self, request: HttpRequest, obj: NotificationTarget | None = None) -> list[str]:
        """What a new target is made of, or what is known of an old one."""
        fields = ["tenant", "channel", "name", "destination", "events", "enabled"]
        return fields if obj is None else [*fields, "disabled_because", "created_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: NotificationTarget | None = None) -> list[str]:
        """A target's secret belongs to its tenant and destination."""
        return [] if obj is None else ["tenant", "channel", "destination", "disabled_because", "created_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button: after it may come the page with the secret."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_delete_permission(self, request: HttpRequest, obj: NotificationTarget | None = None) -> bool:
        """Never: a target that is switched off stays, so that what it was sent can be explained."""
        return False

    def save_model(self, request: HttpRequest, obj: NotificationTarget, form: Any, change: bool) -> None:
        """A new target's secret is stored encrypted; its text lives until the answer to this request."""
        if not change:
            accepted: Accepted = form.accepted
            obj.secret = encrypt(accepted.secret) if accepted.secret else ""
            request.accepted = accepted  # type: ignore[attr-defined]
        if obj.enabled:
            obj.disabled_because = ""
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: HttpRequest, obj: NotificationTarget, post_url_continue: str | None = None
    ) -> HttpResponse:
        """A secret that was made here, on a page of its own: a message would leave it in a cookie."""
        accepted: Accepted = request.accepted  # type: ignore[attr-defined]
        if not accepted.shown_once:
            response: HttpResponse = super().response_add(request, obj, post_url_continue)
            return response
        context = {
            **self.admin_site.each_context(request),
            "title": "The new target's secret",
            "opts": self.opts,
            "secret": accepted.secret,
        }
        page = TemplateResponse(request, "admin/notifications/notificationtarget/made.html", context)
        page["Cache-Control"] = "no-store"
        return page


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    """What was sent to whom, and what keeps the rest."""

    list_display = (
        *("created_at", "tenant", "event", "channel", "status", "attempts", "due_at", "target", "recipient"),
        "problem",
    )
    list_filter = (BY_TENANT, "status", "channel", "event")
    list_filter_submit = True
    list_select_related = ("tenant", "target", "recipient")
