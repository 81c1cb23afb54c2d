"""The question before a call is erased, and the answer to it."""

import uuid

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from audit.history import access_log, calls
from audit.models import ToolCall
from gateway.runs.conversations import erasure
from gateway.runs.errors import NotAnEraser
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def erase_call(request: SignedInRequest, call_id: uuid.UUID) -> HttpResponse:
    """Ask whether a call is to be erased, without showing what is in it; a POST erases it, for the form's `reason`."""
    principal = request.principal
    columns = ToolCall.objects.only("id", "tenant_id", "user_id", "tool_name", "created_at")
    found = calls.visible(principal, columns).filter(id=call_id).first()
    if found is None:
        raise Http404
    own = found.user_id == principal.user_id
    if not own and "admin" not in principal.scopes:
        raise PermissionDenied(NotAnEraser().detail)
    refusal: Refused | None = None
    # A form's lines end in CRLF.
    reason = request.POST.get("reason", "").strip().replace("\r\n", "\n")
    if request.method == "POST":
        try:
            async_to_sync(erasure.ask)(principal, "call", call_id, reason)
            return redirect("history-detail", call_id)
        except Refused as error:
            refusal = error
    username = access_log.names({found.user_id}).get(found.user_id, access_log.FORMER)
    context = frame(request, "history") | {
        "call": found, "own": own, "username": username, "refusal": refusal, "reason": reason,
    }  # fmt: skip
    return render(request, "access/erase.html", context, status=refusal.status if refusal else 200)
