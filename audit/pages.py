"""A person's tool history: the list with its filters, and one call in full."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from audit.models import FINAL, ErrorCode, Status, ToolCall
from audit.templatetags.audit_text import ERROR_WORDS
from tenants.access import SignedInRequest, signed_in
from tenants.models import User
from tenants.pages import frame
from tenants.principal import Principal

PAGE = 30
# The tools to choose from are those of this many latest calls: naming them all would read the whole table.
RECENT = 500
ROW = (
    *("id", "user_id", "tool_name", "display", "status", "error_code", "error_message"),
    *("execution_time_ms", "created_at"),
)
IN_PROGRESS = "in_progress"
STATUSES = [
    ("", "Any status"),
    (Status.SUCCESS, "Done"),
    (Status.ERROR, "Failed or refused"),
    (Status.AWAITING_APPROVAL, "Waiting for approval"),
    (IN_PROGRESS, "In progress"),
]
PERIODS = {
    "hour": ("The last hour", timedelta(hours=1)),
    "day": ("The last 24 hours", timedelta(days=1)),
    "week": ("The last 7 days", timedelta(days=7)),
    "month": ("The last 30 days", timedelta(days=30)),
}


class Filters(forms.Form):
    """What the list is narrowed by; a value that makes no sense narrows nothing."""

    q = forms.CharField(required=False, max_length=200)
    tool = forms.CharField(required=False, max_length=200)
    status = forms.ChoiceField(required=False, choices=STATUSES)
    error = forms.ChoiceField(
        required=False, choices=[("", "Any error"), *((code, ERROR_WORDS[code][0]) for code in ErrorCode)]
    )
    period = forms.ChoiceField(
        required=False, choices=[("", "Any time"), *((key, label) for key, (label, _) in PERIODS.items())]
    )
    user = forms.CharField(required=False, max_length=150)
    conversation = forms.UUIDField(required=False)
    before = forms.UUIDField(required=False)

    def chosen(self) -> dict[str, Any]:
        """The sensible values that were given, without `before`."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value and name != "before"}


def visible_calls(principal: Principal) -> QuerySet[ToolCall]:
    """The calls that this person may read: their own, or the whole tenant's."""
    calls = ToolCall.objects.filter(tenant_id=principal.tenant_id)
    return calls if principal.sees_whole_history else calls.filter(user_id=principal.user_id)


def first_id_at(moment: datetime) -> uuid.UUID:
    """The smallest UUIDv7 of a moment; comparing ids with it reads only the partitions after it."""
    return uuid.UUID(int=(int(moment.timestamp() * 1000) << 80) | (0x7 << 76) | (0x8 << 60))


def _narrowed(calls: QuerySet[ToolCall], chosen: dict[str, Any]) -> QuerySet[ToolCall]:
    status = chosen.get("status")
    if status == IN_PROGRESS:
        calls = calls.exclude(status__in=FINAL).exclude(status=Status.AWAITING_APPROVAL)
    elif status:
        calls = calls.filter(status=status)
    for name, field in (("tool", "tool_name"), ("error", "error_code"), ("conversation", "conversation_id")):
        if name in chosen:
            calls = calls.filter(**{field: chosen[name]})
    if "period" in chosen:
        calls = calls.filter(id__gte=first_id_at(datetime.now(UTC) - PERIODS[chosen["period"]][1]))
    if "q" in chosen:
        words = chosen["q"]
        calls = calls.filter(
            Q(tool_name__icontains=words) | Q(display__icontains=words) | Q(error_message__icontains=words)
        )
    return calls


def _usernames(calls: list[ToolCall]) -> dict[uuid.UUID, str]:
    """Names by user id; someone who has left the tenant has none here, and their calls stay."""
    return dict(User.objects.filter(id__in={call.user_id for call in calls}).values_list("id", "username"))


@require_safe
@signed_in
def history(request: SignedInRequest) -> HttpResponse:
    """The calls, newest first, a page at a time after `before`; htmx is answered with the rows alone."""
    principal = request.principal
    filters = Filters(request.GET)
    chosen = filters.chosen()
    before = filters.cleaned_data.get("before")
    calls = _narrowed(visible_calls(principal), chosen)
    if principal.sees_whole_history and "user" in chosen:
        calls = calls.filter(user_id__in=User.objects.filter(username=chosen["user"]).values("id"))
    if before:
        calls = calls.filter(id__lt=before)
    found = list(calls.only(*ROW).order_by("-id")[: PAGE + 1])
    shown = found[:PAGE]
    if principal.sees_whole_history:
        names = _usernames(shown)
        for call in shown:
            call.username = names.get(call.user_id, "former member")  # type: ignore[attr-defined]
    query = request.GET.copy()
    if len(found) > PAGE:
        query["before"] = str(shown[-1].id)
    context = {
        "calls": shown,
        "more": query.urlencode() if len(found) > PAGE else "",
        "continued": before is not None,
        "chosen": chosen,
        "filters": filters,
    }
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        response = render(request, "history/rows.html" if before else "history/calls.html", context)
    else:
        context |= frame(request, "history") | _choices(principal, chosen)
        response = render(request, "history/history.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _choices(principal: Principal, chosen: dict[str, Any]) -> dict[str, Any]:
    recent = visible_calls(principal).order_by("-id").values_list("tool_name", flat=True)[:RECENT]
    tools = {name for name in recent if len(name) <= 64} | ({chosen["tool"]} if "tool" in chosen else set())
    people: list[str] = []
    if principal.sees_whole_history:
        people = list(User.objects.order_by("username").values_list("username", flat=True)[:200])
    return {"tools": sorted(tools), "people": people}


@require_safe
@signed_in
def detail(request: SignedInRequest, call_id: uuid.UUID) -> HttpResponse:
    """Everything that was recorded of one call; another's is 404."""
    found = get_object_or_404(visible_calls(request.principal).defer("row_key"), id=call_id)
    own = found.user_id == request.principal.user_id
    username = request.principal.username if own else _usernames([found]).get(found.user_id, "former member")
    context = {"call": found, "own": own, "username": username}
    return render(request, "history/call.html", context | frame(request, "history"))
