"""`/settings/safety/`: what is stopped at once, limits of requests, and what holds calls that would reach outside after
private data and strangers' words were read. Owners change all of it; auditors and approvers only look."""

import uuid
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from tenants.errors import Refused
from tenants.limits import changes as limits
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.meanwhile import BASED_ON
from tenants.me.frame import section_frame
from tenants.models import KillSwitch, Tenant, User
from tenants.people import settings
from tenants.switches import changes, reading
from tenants.switches.changes import NewSwitch
from tenants.switches.on import Switch

Kind = KillSwitch.Kind
_KINDS = [
    (Kind.TOOL, "A tool, by its name"),
    (Kind.SERVICE, "A service with all its tools, by its slug"),
    (Kind.AGENT, "An agent, by its slug"),
    (Kind.USER, "A person, by their username"),
    (Kind.MODEL, "A model, as provider/model or provider/*"),
    (Kind.TENANT, "Everything in this tenant, by its slug"),
]
_HOURS = [("", "Until somebody ends it"), ("1", "For an hour"), ("8", "For 8 hours"), ("24", "For a day"),
          ("168", "For a week")]  # fmt: skip


class LimitsForm(forms.Form):
    """Requests per minute; empty: no limit."""

    per_tenant = forms.IntegerField(required=False, min_value=1, max_value=limits.MOST)
    per_person = forms.IntegerField(required=False, min_value=1, max_value=limits.MOST)
    per_key = forms.IntegerField(required=False, min_value=1, max_value=limits.MOST)


class TaintForm(forms.Form):
    """What becomes of a call that the gate `taint` finds."""

    taint = forms.ChoiceField(choices=Tenant.Taint.choices)


_TAINT = {
    Tenant.Taint.ASK: ("Ask", "An approver has to say yes, unless the user has named whom it reaches."),
    Tenant.Taint.DENY: ("Deny", "It is refused, unless the user has named whom it reaches."),
    Tenant.Taint.OBSERVE: ("Observe", "It goes on, and its record says that a human would have been asked."),
    Tenant.Taint.OFF: ("Off", "It goes on, and nothing is recorded."),
}
_LABELS = {"per_tenant": "All people and keys together", "per_person": "Each person", "per_key": "Each API key"}


class NewSwitchForm(forms.Form):
    """What is to be stopped, why, and for how long."""

    kind = forms.ChoiceField(choices=_KINDS)
    target = forms.CharField(max_length=changes.MAX_TARGET)
    reason = forms.CharField(max_length=changes.MAX_REASON)
    hours = forms.ChoiceField(choices=_HOURS, required=False)

    def wanted(self) -> NewSwitch:
        """The switch, once the form is valid."""
        given = self.cleaned_data
        until = timezone.now() + timedelta(hours=int(given["hours"])) if given["hours"] else None
        return NewSwitch(given["kind"], given["target"], given["reason"], until)


@require_http_methods(["GET", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """All that is stopped, and a form to stop something more."""
    frame = section_frame(request, "safety")
    form = NewSwitchForm(request.POST if request.method == "POST" else None)
    if form.is_bound:
        _require_owner(request)
    if form.is_valid():
        try:
            made = changes.put_on(request.principal.tenant_id, form.wanted())
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        else:
            [switch] = [each for each in reading.on_now() if each.id == made.pk]
            messages.success(request, f"{_shown(switch)['what']} is stopped.")
            return redirect("settings-safety")
    return _page(request, frame, form, LimitsForm(), 400 if form.errors else 200)


@require_POST
@signed_in
def set_limits(request: SignedInRequest) -> HttpResponse:
    """Set the limits of requests."""
    frame = section_frame(request, "safety")
    _require_owner(request)
    form = LimitsForm(request.POST)
    if form.is_valid():
        try:
            limits.set_limits(request.principal.tenant_id, form.cleaned_data)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        else:
            messages.success(request, "The limits hold from the next request on.")
            return redirect("settings-safety")
    return _page(request, frame, NewSwitchForm(), form, 400)


@require_POST
@signed_in
def set_taint(request: SignedInRequest) -> HttpResponse:
    """Say what becomes of calls that would reach outside; whoever makes it less strict is asked who they are."""
    section_frame(request, "safety")
    _require_owner(request)
    form = TaintForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed: choose one of the four.", extra_tags="bad")
        return redirect("settings-safety")
    chosen = settings.change(request.principal.tenant_id, **form.cleaned_data).taint
    messages.success(request, f"{_TAINT[Tenant.Taint(chosen)][0]}: it holds from the next call on.")
    return redirect("settings-safety")


def _page(
    request: SignedInRequest, frame: dict[str, Any], form: NewSwitchForm, limited: LimitsForm, status: int
) -> HttpResponse:
    known = limits.of(request.principal.tenant_id)
    fields: list[dict[str, Any]] = [
        {
            "name": name,
            "label": label,
            "value": (limited[name].value() if limited.is_bound else getattr(known, name)) or "",
            "errors": limited.errors.get(name, []),
        }
        for name, label in _LABELS.items()
    ]
    context = {
        "switches": [_shown(each) for each in reading.on_now()],
        "form": form,
        "may_change": _is_owner(request),
        "kinds": _KINDS,
        "durations": _HOURS,
        "limits": fields,
        "based_on": (limited.data or {}).get(BASED_ON) or limits.revision_of(known),
        "ceiling": known.ceiling,
        "most": limits.MOST,
        "taint": Tenant.objects.get(id=request.principal.tenant_id).taint,
        "taint_choices": [(value, *words) for value, words in _TAINT.items()],
    }
    return render(request, "settings/safety/switches.html", frame | context, status=status)


@require_POST
@signed_in
def end(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End one."""
    section_frame(request, "safety")
    _require_owner(request)
    try:
        changes.end(request.principal.tenant_id, id)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        messages.success(request, "The kill switch is ended. What it stopped may go on.")
    return redirect("settings-safety")


def _is_owner(request: SignedInRequest) -> bool:
    return "admin" in request.principal.scopes


def _require_owner(request: SignedInRequest) -> None:
    if not _is_owner(request):
        raise PermissionDenied("Only an owner of your tenant changes kill switches, limits, and what holds calls.")


def _shown(switch: Switch) -> dict[str, Any]:
    """A switch for people: of a person with the username."""
    what = switch.stopped
    if switch.kind == Kind.USER:
        named = User.objects.filter(pk=switch.target).values_list("username", flat=True).first()
        what = f"All that {named or 'a former member'} does"
    return {"switch": switch, "what": what, "who": switch.who}


urlpatterns = [
    path("", index, name="settings-safety"),
    path("limits/", set_limits, name="settings-safety-limits"),
    path("taint/", set_taint, name="settings-safety-taint"),
    path("<uuid:id>/end/", end, name="settings-safety-end"),
]
