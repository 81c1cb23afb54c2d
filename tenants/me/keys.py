"""`/settings/keys/`: one's own API keys."""

import uuid
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from tenants.errors import Refused
from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.models import ApiKey
from tenants.people import keys

_DAYS = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]
_OVERLAPS = [("0", "at once"), ("3600", "in an hour"), ("86400", "in a day"), ("604800", "in a week")]
# Of the keys that have ended, so many are shown; the API has all.
_ENDED = 20


class NewKeyForm(forms.Form):
    """What a new key is called, may do, and when it ends."""

    name = forms.CharField(max_length=200, required=False)
    scopes = forms.MultipleChoiceField(required=False)
    days = forms.ChoiceField(choices=_DAYS, required=False)

    def __init__(self, scopes: frozenset[str], *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["scopes"].choices = [(each, each) for each in sorted(scopes)]  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        """One line of text."""
        name = str(self.cleaned_data["name"])
        if not name.isprintable():
            raise forms.ValidationError("The name must be one line of characters that can be printed.")
        return name


class _RotateForm(forms.Form):
    overlap = forms.ChoiceField(choices=_OVERLAPS)


@never_cache
@require_http_methods(["GET", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The caller's keys, and a form for a new one, whose text is on the page that follows and nowhere else."""
    form = NewKeyForm(request.principal.scopes, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, form, status=400 if form.is_bound else 200)
    given = form.cleaned_data
    reauthentication.demand_for_key(request, request.principal, given["scopes"] or None)
    ends = timezone.now() + timedelta(days=int(given["days"])) if given["days"] else None
    try:
        row, key = keys.make(request.principal, name=given["name"], scopes=given["scopes"] or None, expires_at=ends)
    except Refused as refused:
        form.add_error(None, refused.detail)
        return _page(request, form, status=refused.status)
    return _page(request, NewKeyForm(request.principal.scopes), made=row, key=key)


@require_POST
@signed_in
def revoke(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End one of the caller's keys at once."""
    row = _own(request, id)
    keys.revoke(request.principal, row)
    messages.success(request, f"The key {row.prefix}… is revoked.")
    return redirect("settings-keys")


@never_cache
@require_POST
@signed_in
def rotate(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """A new key in the place of one of the caller's."""
    row, form = _own(request, id), _RotateForm(request.POST)
    new = NewKeyForm(request.principal.scopes)
    if not form.is_valid():
        return _page(request, new, status=400, refusal="Choose when the old key ends.")
    reauthentication.demand_for_key(request, request.principal, row.scopes)
    try:
        made, key = keys.rotate(request.principal, row, timedelta(seconds=int(form.cleaned_data["overlap"])))
    except Refused as refused:
        return _page(request, new, status=refused.status, refusal=refused.detail)
    return _page(request, new, made=made, key=key)


def _own(request: SignedInRequest, id: uuid.UUID) -> ApiKey:
    row = ApiKey.objects.filter(user_id=request.principal.user_id, tenant_id=request.principal.tenant_id, pk=id).first()
    if row is None:
        raise Http404
    return row


def _page(request: SignedInRequest, form: NewKeyForm, *, status: int = 200, **more: Any) -> HttpResponse:
    own = ApiKey.objects.filter(user_id=request.principal.user_id, tenant_id=request.principal.tenant_id)
    working = keys.working(request.principal).order_by("-created_at")
    ended = own.exclude(pk__in=working.values("pk")).order_by("-created_at")[:_ENDED]
    lists = {"working": working, "ended": ended, "overlaps": _OVERLAPS, "form": form, "scopes": form.fields["scopes"]}
    return render(request, "settings/keys.html", section_frame(request, "keys") | lists | more, status=status)


urlpatterns = [
    path("", index, name="settings-keys"),
    path("<uuid:id>/revoke/", revoke, name="settings-key-revoke"),
    path("<uuid:id>/rotate/", rotate, name="settings-key-rotate"),
]
