"""The history's filters: the form, the chips of active filters, and what they mean to a list."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from audit.history import calls
from audit.models import FINAL, ErrorCode, Status, ToolCall
from audit.templatetags.audit_text import ERROR_WORDS, visible
from tenants.models import User
from tenants.people.principal import Principal

# The tools to choose from are those of this many latest calls: naming them all would read the whole table.
RECENT = 500
MOST_PEOPLE = 200
LONGEST_CHOICE = 64
OUTCOMES = [
    ("", "Any status"),
    (str(Status.SUCCESS), "Done"),
    (calls.FAILED, "Failed"),
    (calls.REFUSED, "Refused"),
    (str(Status.ERROR), "Failed or refused"),
    (str(Status.AWAITING_APPROVAL), "Waiting for approval"),
    (calls.IN_PROGRESS, "Running"),
    (calls.ERASED, "Erased"),
]
PERIODS = {
    "hour": ("The last hour", timedelta(hours=1)),
    "day": ("The last 24 hours", timedelta(days=1)),
    "week": ("The last 7 days", timedelta(days=7)),
    "month": ("The last 30 days", timedelta(days=30)),
}
FOLDED = {"tool", "status", "error", "user", "period", "since", "until"}
IS_ERASED = Q(row_key__isnull=True, status__in=FINAL)
_NEVER_SHARED = {"before", "after"}


class FilterForm(forms.Form):
    """The list's filters; a value that makes no sense filters nothing.

    `since` and `until` are days in the time zone `tz`, both included.
    """

    q = forms.CharField(required=False, max_length=200)
    tool = forms.CharField(required=False, max_length=200)
    status = forms.ChoiceField(required=False, choices=OUTCOMES)
    error = forms.ChoiceField(
        required=False, choices=[("", "Any error"), *((code, ERROR_WORDS[code][0]) for code in ErrorCode)]
    )
    period = forms.ChoiceField(
        required=False, choices=[("", "Any time"), *((key, label) for key, (label, _) in PERIODS.items())]
    )
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    tz = forms.CharField(required=False, max_length=64)
    user = forms.CharField(required=False, max_length=150)
    conversation = forms.UUIDField(required=False)
    run = forms.UUIDField(required=False)
    before = forms.UUIDField(required=False)
    after = forms.UUIDField(required=False)


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is active: its words, and the address of the list without it."""

    words: str
    without: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The sensible values of a request, as text in `values`, and where the page begins."""

    values: dict[str, Any]
    before: uuid.UUID | None = None
    after: uuid.UUID | None = None

    @property
    def query(self) -> str:
        """The filters as the query of an address, without where the page begins."""
        return urlencode(self.values)

    def continued(self, **place: object) -> str:
        """The query of the list from a place on."""
        return urlencode(self.values | place)

    def filters(self, principal: Principal) -> calls.Filters:
        """The filters for `audit.history.calls`; only those who see the tenant's history may name a person."""
        values = self.values
        zone = ZoneInfo(values["tz"]) if "tz" in values else UTC
        since = _midnight(values.get("since"), zone, 0)
        if "period" in values:
            start = datetime.now(UTC) - PERIODS[values["period"]][1]
            since = max(since, start) if since else start
        return calls.Filters(
            user=values.get("user") if principal.sees_whole_history else None,
            tool=values.get("tool"),
            status=values.get("status"),
            error_code=values.get("error"),
            conversation_id=values.get("conversation"),
            run_id=values.get("run"),
            since=since,
            until=_midnight(values.get("until"), zone, 1),
            words=values.get("q"),
        )

    def chips(self, principal: Principal) -> list[Chip]:
        """The active filters, in words, each with the way back to the list without it."""
        words: dict[str, Callable[[Any], str]] = {
            "q": lambda text: f"“{visible(text)}”",
            "tool": lambda name: f"Tool: {visible(name)}",
            "status": lambda status: dict(OUTCOMES)[status],
            "error": lambda code: f"Error: {ERROR_WORDS[ErrorCode(code)][0]}",
            "period": lambda key: PERIODS[key][0],
            "since": lambda day: f"From {day:%-d %b %Y}",
            "until": lambda day: f"To {day:%-d %b %Y}",
            "user": lambda name: f"Person: {visible(name)}",
            "conversation": lambda _: "One conversation",
            "run": lambda _: "One run",
        }
        shown = [name for name in words if name in self.values and (name != "user" or principal.sees_whole_history)]
        return [Chip(words[name](self.values[name]), self._without(name)) for name in shown]

    def folded(self, principal: Principal) -> int:
        """How many of the fields that are folded on a phone are in use."""
        fields = FOLDED if principal.sees_whole_history else FOLDED - {"user"}
        return len(fields & self.values.keys())

    def _without(self, name: str) -> str:
        left = {key: value for key, value in self.values.items() if key != name}
        if not left.keys() & {"since", "until"}:
            left.pop("tz", None)
        return urlencode(left)


def chosen(query: Any) -> Chosen:
    """The sensible values among a request's."""
    form = FilterForm(query)
    form.is_valid()
    values = {name: value for name, value in form.cleaned_data.items() if value and name not in _NEVER_SHARED}
    if "tz" in values and values["tz"] not in available_timezones():
        del values["tz"]
    return Chosen(values, form.cleaned_data.get("before"), form.cleaned_data.get("after"))


def choices(principal: Principal, of: Chosen) -> dict[str, Any]:
    """The tools of the latest calls and, for those who see the tenant's history, its people."""
    names: Any = ToolCall.objects.values_list("tool_name", flat=True)
    recent: Any = calls.page(principal, calls.Filters(), limit=RECENT, calls=names)
    tools = {name for name in recent if len(name) <= LONGEST_CHOICE}
    tools |= {of.values["tool"]} if "tool" in of.values else set()
    people: list[str] = []
    if principal.sees_whole_history:
        people = list(User.objects.order_by("username").values_list("username", flat=True)[:MOST_PEOPLE])
    return {"tools": sorted(tools), "people": people}


def marked_erased(found: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
    """Each call with `erased`: whether its payload is gone, without reading the key that says so."""
    return found.annotate(erased=ExpressionWrapper(IS_ERASED, output_field=BooleanField()))


def _midnight(day: date | None, zone: Any, later: int) -> datetime | None:
    if day is None:
        return None
    try:
        return datetime.combine(day + timedelta(days=later), time(), zone)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
