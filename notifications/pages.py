"""`/settings/notifications/`: where events of the tenant go, for owners."""

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from notifications import events, targets
from notifications.channels import registry
from notifications.models import NotificationTarget
from notifications.targets import MOST, NoSuchTarget
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.me.frame import section_frame

PAGE = "settings-notifications"


def _events() -> list[tuple[str, str]]:
    return [(each.name, each.label) for each in events.declared()]


class TargetForm(forms.Form):
    """A new target."""

    channel = forms.ChoiceField(choices=lambda: [(each.slug, each.label) for each in registry.channels()])
    destination = forms.CharField(max_length=2048)
    name = forms.CharField(max_length=200, required=False)
    events = forms.MultipleChoiceField(choices=_events)

    def clean_name(self) -> str:
        """One line of text."""
        name = str(self.cleaned_data["name"])
        if not name.isprintable():
            raise forms.ValidationError("The name must be one line of characters that can be printed.")
        return name


class _ChangeForm(forms.Form):
    events = forms.MultipleChoiceField(choices=_events)
    enabled = forms.BooleanField(required=False)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The targets, and a form for a new one, whose secret is on the page that follows and nowhere else."""
    section_frame(request, "notifications")
    chosen = [name for name, _ in _events() if name.startswith("approval.")]
    fresh = TargetForm(initial={"events": chosen})
    form = TargetForm(request.POST) if request.method == "POST" else fresh
    if not form.is_valid():
        return _page(request, form, status=400 if form.is_bound else 200)
    given = form.cleaned_data
    try:
        made, accepted = targets.make(
            request.principal,
            channel=given["channel"],
            destination=given["destination"],
            wanted=given["events"],
            name=given["name"],
        )
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        return _page(request, form, status=refused.status)
    return _page(request, fresh, made=made, secret=accepted.secret if accepted.shown_once else "")


@require_POST
@signed_in
def change(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Say which events a target gets, and whether it gets any."""
    section_frame(request, "notifications")
    form = _ChangeForm(request.POST)
    if not form.is_valid():
        return _page(request, TargetForm(), status=400, refusal="Choose at least one event; or switch the target off.")
    try:
        targets.change(request.principal, id, **form.cleaned_data)
    except NoSuchTarget:
        raise Http404 from None
    messages.success(request, "The target is changed.")
    return redirect(PAGE)


@require_POST
@members_only
def test(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Send a message to a target now."""
    if "admin" not in request.principal.scopes:
        raise PermissionDenied("Only owners of your tenant open these settings. An owner can change your role.")
    try:
        problem = async_to_sync(targets.try_out)(request.principal, id)
    except NoSuchTarget:
        raise Http404 from None
    if problem:
        messages.warning(request, f"The test did not arrive: {problem}", extra_tags="bad")
    else:
        messages.success(request, "The test was delivered.")
    return redirect(PAGE)


def _page(request: SignedInRequest, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
    rows = NotificationTarget.objects.filter(tenant_id=request.principal.tenant_id).order_by("-created_at")[:MOST]
    context = {"targets": rows, "form": form, "channels": registry.channels(), "all_events": _events()}
    page = section_frame(request, "notifications") | context | more
    return render(request, "settings/notifications/targets.html", page, status=status)


urlpatterns = [
    path("", index, name=PAGE),
    path("<uuid:id>/", change, name="settings-notification-target"),
    path("<uuid:id>/test/", test, name="settings-notification-test"),
]
