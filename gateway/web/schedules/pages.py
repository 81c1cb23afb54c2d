"""`/settings/schedules/`: one's own schedules and what became of them; for owners and auditors the tenant's, too."""

import uuid
from typing import Any

import orjson
from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gateway.models import Agent
from gateway.schedules import changes, firing
from gateway.schedules.errors import NoSuchSchedule
from gateway.schedules.models import Schedule
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.me.frame import section_frame
from tenants.people import profile
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope

SHOWN = 50
_FIELDS = ("cron", "tz", "agent", "content")
_PAGES_AT_MOST = 10_000


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def schedules(request: SignedInRequest) -> HttpResponse:
    """The viewer's schedules, and for owners and auditors the others'; a POST makes a new one."""
    values: dict[str, Any] = {
        "cron": "0 9 * * 1-5",
        "tz": profile.of(request.principal).time_zone,
        "agent": "",
        "content": "",
    }
    refusal: Refused | None = None
    if request.method == "POST":
        values = _given(request)
        try:
            changes.add(request.principal, **values)
        except Refused as refused:
            refusal = refused
        else:
            messages.success(request, "The schedule is made.")
            return redirect("settings-schedules")
    rows = changes.seen_by(request.principal)
    others = rows.exclude(user_id=request.principal.user_id)
    context = {
        "own": rows.filter(user_id=request.principal.user_id),
        "others": _page(request, others) if request.principal.sees_whole_history else None,
        **_form(values, refusal),
    }
    return _rendered(request, "schedules", context, refusal)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def schedule(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """A schedule and its slots, newest first; a POST changes one's own."""
    row = _found(request, id)
    values = {"cron": row.cron, "tz": row.tz, "agent": row.agent.slug if row.agent else "", "content": row.content}
    refusal: Refused | None = None
    if request.method == "POST":
        values = _given(request)
        try:
            changes.change(request.principal, id, dict(values))
        except Refused as refused:
            refusal = refused
        else:
            messages.success(request, "The schedule is changed.")
            return redirect("settings-schedule", id)
    is_own = row.user_id == request.principal.user_id
    slots = _page(request, changes.slots(row))
    form = _form(values, refusal) if is_own else {"refusal": refusal}
    context = {"row": row, "slots": slots, "is_own": is_own, **form}
    return _rendered(request, "schedule", context | {"may_pause": is_own or _owns(request)}, refusal)


@require_POST
@members_only
def run(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Begin a run of one's own."""
    principal = request.principal
    scope = TenantScope(principal.tenant_id, principal.user_id)
    try:
        with transactions.scope(*scope):
            changes.refuse_others(principal, id)
        slot = async_to_sync(firing.run)(scope, id)
    except NoSuchSchedule:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        if slot.run_id is None:
            messages.warning(request, slot.message or "", extra_tags="wait")
        else:
            messages.success(request, "A run has begun.")
    return redirect("settings-schedule", id)


@require_POST
@signed_in
def switch(request: SignedInRequest, id: uuid.UUID, enabled: bool) -> HttpResponse:
    """Pause it, or switch it on again."""
    try:
        changes.change(request.principal, id, {"enabled": enabled})
    except NoSuchSchedule:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        messages.success(request, "The schedule is on." if enabled else "The schedule is paused.")
    return redirect("settings-schedule", id)


@require_POST
@signed_in
def delete(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete it."""
    try:
        changes.remove(request.principal, id)
    except NoSuchSchedule:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect("settings-schedule", id)
    messages.success(request, "The schedule is deleted.")
    return redirect("settings-schedules")


@require_safe
@signed_in
def export(request: SignedInRequest) -> HttpResponse:
    """All of the viewer's schedules, as JSON lines."""
    lines = (orjson.dumps({"kind": "schedule", **each}) + b"\n" for each in changes.exported(request.principal))
    response = HttpResponse(b"".join(lines), content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="schedules.jsonl"'
    response["Cache-Control"] = "no-store"
    return response


def _found(request: SignedInRequest, id: uuid.UUID) -> Schedule:
    try:
        return changes.found(request.principal, id)
    except NoSuchSchedule:
        raise Http404 from None


def _owns(request: SignedInRequest) -> bool:
    return "admin" in request.principal.scopes


def _given(request: SignedInRequest) -> dict[str, Any]:
    given = {name: request.POST.get(name, "").strip() for name in _FIELDS}
    return given | {"content": given["content"].replace("\r\n", "\n")}


def _form(values: dict[str, Any], refusal: Refused | None) -> dict[str, Any]:
    agents = Agent.objects.filter(archived_at=None).order_by("slug").values_list("slug", "name")
    return {"values": values, "refusal": refusal, "agents": agents, "time_zones": profile.time_zones()}


def _page(request: SignedInRequest, rows: Any) -> Any:
    number = request.GET.get("page", "1")
    wanted = int(number) if number.isdecimal() and len(number) < 6 else 1
    return Paginator(rows, SHOWN).get_page(min(wanted, _PAGES_AT_MOST))


def _rendered(request: SignedInRequest, name: str, context: dict[str, Any], refusal: Refused | None) -> HttpResponse:
    context = section_frame(request, "schedules") | context
    return render(request, f"settings/schedules/{name}.html", context, status=refusal.status if refusal else 200)


urlpatterns = [
    path("", schedules, name="settings-schedules"),
    path("export.jsonl", export, name="settings-schedules-export"),
    path("<uuid:id>/", schedule, name="settings-schedule"),
    path("<uuid:id>/run/", run, name="settings-schedule-run"),
    path("<uuid:id>/pause/", switch, {"enabled": False}, name="settings-schedule-pause"),
    path("<uuid:id>/resume/", switch, {"enabled": True}, name="settings-schedule-resume"),
    path("<uuid:id>/delete/", delete, name="settings-schedule-delete"),
]
