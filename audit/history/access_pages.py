"""The page of who looked at whose calls, and of what was erased."""

import uuid
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from audit.history import access_log
from audit.history.filter_form import FilterForm
from audit.models import Erasure, HistoryRead
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.models import User
from tenants.people.principal import Principal

PAGE = 30
PEOPLE = 200
DID = {
    HistoryRead.Action.LIST: "saw in a list",
    HistoryRead.Action.DETAIL: "opened",
    HistoryRead.Action.RECEIPT: "read the receipt of",
    HistoryRead.Action.RUN: "looked at the run of",
    HistoryRead.Action.CHARTS: "saw charts of",
    HistoryRead.Action.EXPORT: "exported",
}
WHERE = {"page": "on the pages", "api": "over the API", "admin": "in the admin", "command": "on the command line"}
WHAT = {
    Erasure.Scope.CALL: "one call",
    Erasure.Scope.CONVERSATION: "a conversation",
    Erasure.Scope.USER: "everything of a person",
    Erasure.Scope.RETENTION: "everything older than its retention",
    Erasure.Scope.MONTH: "a month",
}


class Filters(FilterForm):
    """The log's filters."""

    tab = forms.ChoiceField(required=False, choices=[("", "Readings"), ("erased", "Erasures")])
    reader = forms.CharField(required=False, max_length=150)
    person = forms.CharField(required=False, max_length=150)
    before = forms.UUIDField(required=False)


@require_safe
@signed_in
def access(request: SignedInRequest) -> HttpResponse:
    """Who looked at whose calls, newest first, or with `?tab=erased` what was erased; a page at a time."""
    principal = request.principal
    chosen = Filters(request.GET).chosen()
    wanted = access_log.Filters(chosen.get("reader"), chosen.get("person") if principal.sees_whole_history else None)
    shown = (_erasures if chosen.get("tab") else _readings)(principal, wanted, chosen.get("before"))
    query = request.GET.copy()
    query["before"] = str(shown.pop("next") or "")
    context = frame(request, "history") | shown
    context |= {"chosen": chosen, "tab": "access", "more": query.urlencode() if query["before"] else ""}
    if principal.sees_whole_history:
        context["people"] = User.objects.order_by("username").values_list("username", flat=True)[:PEOPLE]
    return render(request, "access/access.html", context)


def _readings(principal: Principal, wanted: access_log.Filters, before: uuid.UUID | None) -> dict[str, Any]:
    found, following = access_log.page(access_log.readings(principal, wanted), before, PAGE)
    known = access_log.names({each.reader_id for each in found} | {each.user_id for each in found})
    return {"next": following, "readings": [_reading(each, principal, known) for each in found]}


def _reading(each: HistoryRead, principal: Principal, known: dict[uuid.UUID | None, str]) -> dict[str, Any]:
    whose = "everybody's calls"
    if each.user_id is not None:
        own = each.user_id == principal.user_id
        name = "your" if own else f"{known.get(each.user_id, access_log.FORMER)}’s"
        whose = f"{name} call" if each.call_id else f"{'one' if each.calls == 1 else each.calls} of {name} calls"
    # Of a reading of everybody's calls, only auditors and owners see the filters.
    visible = principal.sees_whole_history or each.user_id is not None
    return {
        "who": "You" if each.reader_id == principal.user_id else access_log.reader(each, known),
        "did": DID[HistoryRead.Action(each.action)],
        "whose": whose,
        "where": WHERE.get(each.via, each.via),
        "filters": each.filters if visible else {},
        "call_id": each.call_id,
        "moment": each.created_at,
    }


def _erasures(principal: Principal, wanted: access_log.Filters, before: uuid.UUID | None) -> dict[str, Any]:
    found, following = access_log.page(access_log.erasures(principal, wanted), before, PAGE)
    known = access_log.names({each.actor_id for each in found} | {each.subject_id for each in found})
    return {"next": following, "erasures": [_erasure(each, principal, known) for each in found]}


def _erasure(each: Erasure, principal: Principal, known: dict[uuid.UUID | None, str]) -> dict[str, Any]:
    by_itself = each.scope in (Erasure.Scope.RETENTION, Erasure.Scope.MONTH)
    who = known.get(each.actor_id, access_log.FORMER.capitalize()) if each.actor_id else access_log.COMMAND
    what = WHAT[Erasure.Scope(each.scope)]
    if each.scope == Erasure.Scope.USER and each.subject_id in known:
        what = f"everything of {known[each.subject_id]}"
    elif each.scope == Erasure.Scope.MONTH and each.low is not None:
        what = f"{access_log.month_of(each.low):%B %Y}"
    return {
        "who": "You" if each.actor_id == principal.user_id else "Toolgate" if by_itself else who,
        "what": what,
        "reason": each.reason,
        "calls": each.calls,
        "call_id": each.subject_id if each.scope == Erasure.Scope.CALL else None,
        "moment": each.created_at,
    }
