"""`/settings/spend/`: what was spent, as a chart and a table, and the budgets."""

import uuid
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from gateway.budgets import amounts, changes, usage
from gateway.budgets.changes import NewBudget
from gateway.budgets.errors import InvalidUsage, NoSuchBudget, amount_of
from gateway.budgets.models import Budget
from gateway.budgets.usage import Asked
from gateway.models import Agent
from gateway.web.spend import drawing
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.models import ApiKey, Membership
from tenants.people.changes import revision

_WORDS = {"user": "Person", "agent": "Agent", "model": "Model", "tool": "Tool", "key": "API key", "day": "Day"}
# Rows of the table that are shown at once; the file has all.
_SHOWN = 100
# Members, agents and keys that the form offers; the API takes any.
_OFFERED = 200
_ONLY_OWNERS = "Only owners of your tenant set budgets. An owner can set this one, or change your role."


@require_safe
@signed_in
def spend(request: SignedInRequest) -> HttpResponse:
    """What was spent in some days, by day and by one thing more; and the budgets."""
    return _page(request)


@require_POST
@signed_in
def add(request: SignedInRequest) -> HttpResponse:
    """Set a budget."""
    _owners_only(request)
    post, tenant_id = request.POST, request.principal.tenant_id
    whose, _, of = post.get("scope", "").partition(":")
    given: dict[str, Any] = {name: post.get(name, "").strip() for name in ("unit", "window", "limit")}
    if whose and whose != "tenant":
        given["scope"] = {whose: of}
    try:
        budget = changes.add(tenant_id, NewBudget.read(given, tenant_id))
    except Refused as refusal:
        return _page(request, refusal)
    messages.success(request, f"The budget of {changes.in_words(budget)} is set.")
    return redirect("settings-spend")


@require_POST
@signed_in
def change(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Change its limit."""
    _owners_only(request)
    budget = _found(request, id)
    try:
        changes.change(budget, request.POST.get("limit", "").strip())
    except Refused as refusal:
        return _page(request, refusal)
    messages.success(request, f"The budget is {changes.in_words(budget)} now.")
    return redirect("settings-spend")


@require_POST
@signed_in
def end(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End it."""
    _owners_only(request)
    budget = _found(request, id)
    changes.remove(budget)
    messages.success(request, f"The budget of {changes.in_words(budget)} is gone.")
    return redirect("settings-spend")


def _owners_only(request: SignedInRequest) -> None:
    if "admin" not in request.principal.scopes:
        raise PermissionDenied(_ONLY_OWNERS)


def _found(request: SignedInRequest, id: uuid.UUID) -> Budget:
    try:
        return changes.found(request.principal, id, lock=True)
    except NoSuchBudget:
        raise Http404 from None


def _page(request: SignedInRequest, refusal: Refused | None = None) -> HttpResponse:
    query = request.GET
    by = query.get("by") or "model"
    try:
        asked = Asked.read([by], query.get("since", ""), query.get("until", ""))
    except InvalidUsage as senseless:
        refusal, by = refusal or senseless, "model"
        asked = Asked.read([by], "", "")
    try:
        days, found = usage.by_day_and(request.principal, by, asked)
    except InvalidUsage as too_many:
        refusal, by = refusal or too_many, "day"
        days, found = usage.by_day_and(request.principal, by, asked)
    rows = found.rows
    first, last = asked.since.astimezone(UTC).date(), (asked.until - timedelta(microseconds=1)).astimezone(UTC).date()
    chosen = {"by": by, "since": first.isoformat(), "until": (last + timedelta(days=1)).isoformat()}
    context = section_frame(request, "spend") | {
        "refusal": refusal,
        "post": request.POST,
        "whole": _shown(days.whole),
        "picture": drawing.by_day(days.rows, first, last),
        "rows": [_shown(row) | {"name": _name(row, by)} for row in rows[:_SHOWN]],
        "more": max(0, len(rows) - _SHOWN),
        "by": by,
        "by_words": _WORDS[by],
        "choices": list(_WORDS.items()),
        "since": chosen["since"],
        "until": chosen["until"],
        "file": f"/api/v1/usage.csv?{urlencode(chosen)}",
        "budgets": _budgets(request),
        "may_set": "admin" in request.principal.scopes,
        "sees_all": request.principal.sees_whole_history,
    }
    if context["may_set"]:
        context |= {"scopes": _scopes(request), "units": Budget.Unit.choices, "windows": Budget.Window.choices}
    return render(request, "settings/spend/spend.html", context, status=refusal.status if refusal else 200)


def _shown(row: usage.Used) -> dict[str, Any]:
    return {
        "dollars": drawing.dollars(row.cost),
        "requests": row.requests,
        "input": row.input_tokens,
        "output": row.output_tokens,
        "unpriced": row.unpriced,
        "estimated": row.estimated,
    }


def _name(row: usage.Used, by: str) -> str:
    value = row.names.get(by) or row.of[by]
    if value is None:
        return {"user": "Somebody who was deleted", "key": "Without a key (a session)"}.get(by, "None")
    return value if row.names.get(by) or by not in row.names else f"{value} (gone)"


def _budgets(request: SignedInRequest) -> list[dict[str, Any]]:
    budgets = list(changes.seen_by(request.principal).select_related("user", "agent", "key").order_by("created_at"))
    held = amounts.of(budgets)
    found = []
    for each in budgets:
        of, whose = held[each.id], each.scope[0]
        named = {"user": each.user and each.user.username, "agent": each.agent and each.agent.slug, "key": each.key}
        used = of.spent + of.reserved
        part = Decimal(100) if not each.limit else min(Decimal(100), used * 100 / each.limit)
        found.append(
            {
                "id": each.id,
                "based_on": revision(budget=changes.said(each)),
                "whose": "The whole tenant" if whose == "tenant" else f"{_WORDS[whose]} {named[whose]}",
                "words": changes.in_words(each),
                "limit": f"{each.limit.normalize():f}",
                "spent": amount_of(each.unit, of.spent) if each.unit != "usd" else drawing.dollars(of.spent),
                "reserved": of.reserved
                and (amount_of(each.unit, of.reserved) if each.unit != "usd" else drawing.dollars(of.reserved)),
                "part": round(float(part), 1),
                "tone": "bad" if part >= 100 else "wait" if part >= 80 else "good",
                "ends_at": of.ends_at,
            }
        )
    return found


def _scopes(request: SignedInRequest) -> list[tuple[str, str]]:
    """Whose a new budget can be: ("user:<id>", words)."""
    tenant_id = request.principal.tenant_id
    members = Membership.objects.filter(tenant_id=tenant_id).order_by("user__username")[:_OFFERED]
    keys = ApiKey.objects.filter(tenant_id=tenant_id, revoked_at=None).order_by("-created_at")[:_OFFERED]
    return [
        ("tenant:", "The whole tenant"),
        *((f"agent:{pk}", f"Agent {slug}") for pk, slug in Agent.objects.values_list("pk", "slug")[:_OFFERED]),
        *((f"user:{pk}", f"Person {name}") for pk, name in members.values_list("user_id", "user__username")),
        *((f"key:{each.pk}", f"API key {each}") for each in keys),
    ]


urlpatterns = [
    path("", spend, name="settings-spend"),
    path("budgets/", add, name="settings-budgets"),
    path("budgets/<uuid:id>/", change, name="settings-budget"),
    path("budgets/<uuid:id>/end/", end, name="settings-budget-end"),
]
