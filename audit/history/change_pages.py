"""`/settings/changes/`: who changed which setting of the tenant from what to what."""

import uuid
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from audit.changes import reading
from audit.history import access_log, change_words
from audit.history.filter_form import FilterForm
from audit.models import LedgerEntry, SettingChange
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.models import User

PAGE = 30
PEOPLE = 200
WHERE = {
    "page": "on the pages",
    "api": "over the API",
    "admin": "in the admin",
    "command": "on the command line",
    "webhook": "by a signed message",
}
_WITHOUT_A_PERSON = {"toolgate": "Toolgate", "webhook": "Another system"}


class Filters(FilterForm):
    """The list's filters."""

    target = forms.CharField(required=False, max_length=100)
    name = forms.CharField(required=False, max_length=300)
    by = forms.CharField(required=False, max_length=150)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    before = forms.UUIDField(required=False)


@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The changes, newest first, a page at a time; filters are in the address."""
    context = section_frame(request, "changes")
    chosen = Filters(request.GET).chosen()
    before = chosen.pop("before", None)
    wanted = reading.Filters(
        **{name: chosen.get(name) for name in ("target", "name", "by")},
        since=reading.day(chosen.get("since")),
        until=reading.day(chosen.get("until"), after=True),
    )
    found, following = access_log.page(reading.found(request.principal, wanted), before, PAGE)
    query = request.GET.copy()
    query["before"] = str(following or "")
    context |= {
        "changes": _shown(found),
        "chosen": chosen,
        "kinds": sorted(change_words.KINDS.items(), key=lambda each: each[1]),
        "more": query.urlencode() if following else "",
        "people": User.objects.order_by("username").values_list("username", flat=True)[:PEOPLE],
    }
    return render(request, "settings/changes/changes.html", context)


def _shown(found: list[SettingChange]) -> list[dict[str, Any]]:
    known = access_log.names(_people(found))
    named = {str(user_id): name for user_id, name in known.items()}
    ids = [each.pk for each in found]
    entries = {entry.record_id: entry for entry in LedgerEntry.objects.filter(record_id__in=ids, kind="changed")}
    return [_row(each, known, named, entries.get(each.pk)) for each in found]


def _people(found: list[SettingChange]) -> set[uuid.UUID | None]:
    """Who changed something, and whom it is about."""
    ids = {each.actor_id for each in found} | {each.target_id for each in found if each.target == "member"}
    for each in found:
        for name, values in each.changes.items():
            if name.endswith(("user_id", "_by_id")):
                ids |= {uuid.UUID(value) for value in values if isinstance(value, str) and _is_id(value)}
            if name == "scope":
                ids |= {uuid.UUID(value["user"]) for value in values if isinstance(value, dict) and "user" in value}
    return ids


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _row(
    each: SettingChange, known: dict[uuid.UUID | None, str], named: dict[str, str], entry: LedgerEntry | None
) -> dict[str, Any]:
    who = known.get(each.actor_id, access_log.FORMER.capitalize()) if each.actor_id else ""
    name = known.get(each.target_id, access_log.FORMER) if each.target == "member" else each.name
    return {
        "who": who or _WITHOUT_A_PERSON.get(each.via, access_log.COMMAND),
        "where": WHERE.get(each.via, "by itself"),
        "kind": change_words.kind(each.target),
        "target": each.target,
        "name": name,
        "action": each.action,
        "fields": [
            (change_words.field(field), *(change_words.value(value, named) for value in values))
            for field, values in each.changes.items()
        ],
        "moment": each.created_at,
        "entry": entry,
    }


urlpatterns = [path("", index, name="settings-changes")]
