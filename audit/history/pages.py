"""A person's tool history: the list with its filters, and what has changed in it since it was shown."""

import uuid
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from audit.history import calls, filters, reads
from audit.history.filters import Chosen
from audit.models import ToolCall
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.models import User
from tenants.people.principal import Principal

PAGE = 30
# More new calls than this are shown as "20+".
MOST_NEW = 20
ROW = (
    *("id", "tenant_id", "user_id", "tool_name", "display", "status", "error_code", "error_message"),
    *("execution_time_ms", "created_at", "started_at"),
)
FORMER = "former member"


def usernames(user_ids: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Names by user id; someone who has left the tenant has none here, and their calls stay."""
    return dict(User.objects.filter(id__in=user_ids).values_list("id", "username"))


def _rows(principal: Principal, chosen: Chosen, **place: Any) -> list[ToolCall]:
    listed = filters.marked_erased(ToolCall.objects.only(*ROW))
    return calls.page(principal, chosen.filters(principal), calls=listed, **place)


def _named(principal: Principal, shown: list[ToolCall]) -> list[ToolCall]:
    """The same calls, each with `username` where the reader sees other people's."""
    if principal.sees_whole_history:
        names = usernames({call.user_id for call in shown})
        for call in shown:
            call.username = names.get(call.user_id, FORMER)  # type: ignore[attr-defined]
    return shown


def _page(principal: Principal, chosen: Chosen) -> dict[str, Any]:
    """A page of calls, newest first, and the queries of the older and newer ones, as far as there are any."""
    newer = older = ""
    if chosen.after:
        found = _rows(principal, chosen, limit=PAGE + 1, after=chosen.after)
        shown = found[:PAGE][::-1]
        newer = chosen.continued(after=shown[0].id) if len(found) > PAGE else ""
        older = chosen.continued(before=shown[-1].id) if shown else ""
    else:
        found = _rows(principal, chosen, limit=PAGE + 1, before=chosen.before)
        shown = found[:PAGE]
        older = chosen.continued(before=shown[-1].id) if len(found) > PAGE else ""
        newer = chosen.continued(after=shown[0].id) if chosen.before and shown else ""
    return {"calls": _named(principal, shown), "older": older, "newer": newer}


@require_safe
@signed_in
def history(request: SignedInRequest) -> HttpResponse:
    """The calls, newest first, a page at a time; htmx is answered with the list alone."""
    principal = request.principal
    chosen = filters.chosen(request.GET)
    page = _page(principal, chosen)
    reads.of_calls(
        reader_id=principal.user_id, calls=page["calls"], action=reads.Action.LIST, via="page", filters=chosen.values
    )
    context = page | {
        "chosen": chosen.values,
        "folded": chosen.folded(principal),
        "query": chosen.query,
        "chips": chosen.chips(principal),
        "continued": chosen.before or chosen.after,
        "first": not (chosen.before or chosen.after),
    }
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        response = render(request, "history/rows.html" if chosen.before else "history/calls.html", context)
    else:
        context |= frame(request, "history") | filters.choices(principal, chosen)
        context |= {"outcomes": filters.OUTCOMES, "form": filters.FilterForm(), "tab": "calls"}
        response = render(request, "history/history.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
@signed_in
def live(request: SignedInRequest) -> HttpResponse:
    """What has changed in a displayed list: those of the calls `open` whose status differs now.

    `open` names calls as id.status, with commas between; `newest` is the first call of the list; the number of
    newer calls that match its filters is shown. 204 when nothing has changed.
    """
    principal = request.principal
    chosen = filters.chosen(request.GET)
    seen = _seen(request.GET.get("open", ""))
    changed: list[ToolCall] = []
    if seen:
        still = Q()
        for call_id, status in seen.items():
            still |= Q(id=call_id) & ~Q(status=status)
        readable = calls.visible(principal, filters.marked_erased(ToolCall.objects.only(*ROW)))
        changed = _named(principal, list(readable.filter(still).order_by("-id")))
    newer = 0
    try:
        newest = uuid.UUID(request.GET.get("newest", ""))
        newer = len(_rows(principal, chosen, limit=MOST_NEW + 1, after=newest))
    except ValueError:
        pass
    if not changed and not newer:
        return HttpResponse(status=204)
    context = {"calls": changed, "new": newer, "most": MOST_NEW, "query": chosen.query}
    return render(request, "history/live.html", context)


def _seen(text: str) -> dict[uuid.UUID, str]:
    found: dict[uuid.UUID, str] = {}
    for part in text[:8000].split(",")[:PAGE]:
        call_id, _, status = part.partition(".")
        try:
            found[uuid.UUID(call_id)] = status[:30].replace("\x00", "")
        except ValueError:
            continue
    return found
