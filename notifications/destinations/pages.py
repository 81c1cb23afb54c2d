"""`/settings/destinations/`: where the viewer's messages may go without asking."""

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from notifications.channels import registry
from notifications.destinations import changes, verifying
from notifications.destinations.errors import NoSuchDestination
from notifications.models import Destination
from tenants.errors import Refused
from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.me.frame import section_frame

PAGE = "settings-destinations"


class DestinationForm(forms.Form):
    """A new destination."""

    name = forms.CharField(max_length=200)
    channel = forms.ChoiceField(choices=lambda: [(each.slug, each.label) for each in registry.channels()])
    destination = forms.CharField(max_length=2048)
    reminders = forms.BooleanField(required=False)


class _ChangeForm(forms.Form):
    name = forms.CharField(max_length=200)
    reminders = forms.BooleanField(required=False)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The viewer's destinations, and a form for a new one, whose secret is on the page that follows and only there."""
    form = DestinationForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, form, status=400 if form.is_bound else 200)
    # Models will send there without asking.
    reauthentication.demand(request, request.principal)
    try:
        made, accepted = changes.make(request.principal, **form.cleaned_data)
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        return _page(request, form, status=refused.status)
    return _page(request, DestinationForm(), made=made, secret=accepted.secret if accepted.shown_once else "")


@require_POST
@signed_in
def change(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Change what a destination is called, or whether reminders go to it."""
    form = _ChangeForm(request.POST)
    try:
        if not form.is_valid():
            return _page(request, DestinationForm(), status=400, refusal="Give the destination a name.")
        changes.change(request.principal, id, **form.cleaned_data)
    except NoSuchDestination:
        raise Http404 from None
    except Refused as refused:
        return _page(request, DestinationForm(), status=refused.status, refusal=refused.detail)
    messages.success(request, "The destination is changed.")
    return redirect(PAGE)


@require_POST
@members_only
def verify(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Have a destination prove itself."""
    try:
        row = async_to_sync(verifying.ask)(request.principal, id)
    except NoSuchDestination:
        raise Http404 from None
    except Refused as refused:
        messages.warning(request, refused.detail, extra_tags="bad")
        return redirect(PAGE)
    if row.verified_at is None:
        messages.success(request, "A link was sent to the address. Open it while you are logged in here.")
    else:
        messages.success(request, "The destination is verified.")
    return redirect(PAGE)


@require_POST
@signed_in
def remove(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Remove a destination."""
    try:
        changes.remove(request.principal, id)
    except NoSuchDestination:
        raise Http404 from None
    messages.success(request, "The destination is removed.")
    return redirect(PAGE)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def open_link(request: SignedInRequest, token: str) -> HttpResponse:
    """The page of a link in an e-mail, which asks first: programs that read mail open links, too."""
    if request.method == "POST" and (row := verifying.confirm(request.principal, token)) is not None:
        messages.success(request, f"{row.name} is verified.")
        return redirect(PAGE)
    found = verifying.by_link(request.principal, token)
    context = section_frame(request, "destinations") | {"row": found, "token": token}
    response = render(request, "settings/destinations/link.html", context, status=200 if found else 404)
    # The token is in the address of the page.
    response["Referrer-Policy"] = "no-referrer"
    return response


def _page(request: SignedInRequest, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
    rows: list[Destination] = list(changes.own(request.principal)[: changes.MOST])
    context = {"destinations": rows, "form": form, "channels": registry.channels()}
    page = section_frame(request, "destinations") | context | more
    return render(request, "settings/destinations/destinations.html", page, status=status)


urlpatterns = [
    path("", index, name=PAGE),
    path("<uuid:id>/", change, name="settings-destination"),
    path("<uuid:id>/verify/", verify, name="settings-destination-verify"),
    path("<uuid:id>/remove/", remove, name="settings-destination-remove"),
    path("verify/<str:token>/", open_link, name="settings-destination-link"),
]
