"""One call in full: on a page of its own, or inside the list."""

import uuid
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from audit.history import calls, filters, reads
from audit.history.pages import FORMER, usernames
from audit.models import Erasure, LedgerEntry, ToolCall
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.people.principal import Principal


@require_safe
@signed_in
def detail(request: SignedInRequest, call_id: uuid.UUID) -> HttpResponse:
    """Everything that was recorded of one call; another's is 404.

    htmx gets the call alone, with its heading on its own page, and 204 when its status is still the one in `seen`.
    """
    principal = request.principal
    readable = calls.visible(principal, filters.marked_erased(ToolCall.objects.defer("row_key")))
    found = get_object_or_404(readable, id=call_id)
    htmx: Any = request.htmx  # type: ignore[attr-defined]
    part = bool(htmx) and not htmx.history_restore_request
    if part and request.GET.get("seen") == found.status:
        return HttpResponse(status=204)
    reads.of_calls(reader_id=principal.user_id, calls=[found], action=reads.Action.DETAIL, via="page", call_id=found.id)
    context = _context(principal, found) | {"inside": part and htmx.target != "call"}
    if part:
        response = render(request, "history/detail.html", context)
    else:
        response = render(request, "history/call.html", context | frame(request, "history"))
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _context(principal: Principal, call: ToolCall) -> dict[str, Any]:
    """What the page shows beside the call's own columns: who, whether it is sealed, and what erased it."""
    entries = list(LedgerEntry.objects.filter(tenant_id=call.tenant_id, call_id=call.id))
    erasure = None
    for entry in entries:
        if entry.kind == LedgerEntry.Kind.ERASED and entry.record_id:
            erasure = Erasure.objects.filter(id=entry.record_id).first()
    wanted = {call.user_id} | ({erasure.actor_id} if erasure and erasure.actor_id else set())
    names = {principal.user_id: principal.username}
    if wanted - names.keys():
        names |= usernames(wanted - names.keys())
    return {
        "call": call,
        "own": call.user_id == principal.user_id,
        "username": names.get(call.user_id, FORMER),
        "entries": entries,
        "sealed": bool(entries) and all(entry.leaf_index is not None for entry in entries),
        "erasure": erasure,
        "eraser": names.get(erasure.actor_id, FORMER) if erasure and erasure.actor_id else "",
    }
