"""The approver's queue: what waits, what was decided, one request by itself, and the forms that decide about it.

A script that says `Accept: application/json` gets one request's card as HTML inside JSON, so that a card looks the same
however it came onto the page.
"""

import uuid
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_safe

from approvals.errors import InvalidArguments
from approvals.models import ApprovalRequest
from approvals.requests import decisions, queue
from approvals.web import cards
from audit.history.filter_form import FilterForm
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, other_tenants, signed_in
from tenants.login.pages import frame
from tenants.models import User
from tenants.people.principal import Principal
from tools.errors import ToolValidationError
from tools.schemas.arguments import parse

PAGE = 20
# The tools to choose from are those of this many requests: naming them all would read the whole table.
RECENT = 500
PEOPLE = 200
MEMBERS = (
    "The queue is for approvers, auditors and owners, and you are a member. What waits on your own behalf stands in "
    "your chat and your history; an owner of your tenant can make you an approver."
)
AGES = [
    ("", "Any age"),
    ("15m", "Over 15 minutes"),
    ("1h", "Over an hour"),
    ("1d", "Over a day"),
    ("3d", "Over 3 days"),
]
OUTCOMES = [
    ("", "Any outcome"),
    *((value, label) for value, label in ApprovalRequest.Status.choices if value != queue.Status.PENDING),
]


class Filters(FilterForm):
    """What the queue is narrowed by."""

    tab = forms.ChoiceField(required=False, choices=[("", "Waiting"), ("decided", "Decided")])
    tool = forms.CharField(required=False, max_length=64)
    user = forms.CharField(required=False, max_length=150)
    older_than = forms.ChoiceField(required=False, choices=AGES)
    outcome = forms.ChoiceField(required=False, choices=OUTCOMES)
    # The last request of the page before.
    after = forms.UUIDField(required=False)


class Verdict(forms.Form):
    """What a request's own form sends; `seen` is the hash of the arguments that it showed."""

    verdict = forms.ChoiceField(choices=[(each, each) for each in ("approve", "deny", "withdraw")])
    reason = forms.CharField(required=False, strip=True)
    arguments = forms.CharField(required=False, strip=False)
    seen = forms.CharField(required=False)


@require_safe
@signed_in
def approvals(request: SignedInRequest) -> HttpResponse:
    """The queue, oldest first, or with `?tab=decided` what was decided, newest first; a page at a time."""
    principal = request.principal
    if "approvals:read" not in principal.scopes:
        raise PermissionDenied(MEMBERS)
    chosen = Filters(request.GET).chosen()
    found = list(_listed(chosen)[: PAGE + 1])
    shown = found[:PAGE]
    query = request.GET.copy()
    if len(found) > PAGE:
        query["after"] = str(shown[-1].id)
    context = frame(request, "approvals") | {
        "cards": [cards.card(each, principal) for each in shown],
        "more": query.urlencode() if len(found) > PAGE else "",
        "chosen": chosen,
        "narrowed": set(chosen) & {"tool", "user", "older_than", "outcome"},
        "may_decide": "approvals:decide" in principal.scopes,
        "ages": AGES,
        "outcomes": OUTCOMES,
    }
    return render(request, "approvals/approvals.html", context | _choices(chosen))


def _listed(chosen: dict[str, Any]) -> QuerySet[ApprovalRequest]:
    decided = chosen.get("tab") == "decided"
    requests = queue.narrowed(
        queue.visible(),
        status=chosen.get("outcome", "") if decided else queue.Status.PENDING,
        tool=chosen.get("tool", ""),
        user=chosen.get("user", ""),
        older_than=queue.age(chosen.get("older_than", "")),
    )
    after = chosen.get("after")
    if not decided:
        requests = requests.order_by("id")
        return requests.filter(id__gt=after) if after else requests
    requests = requests.exclude(status=queue.Status.PENDING, expires_at__gt=datetime.now(UTC))
    return requests.filter(id__lt=after) if after else requests


def _choices(chosen: dict[str, Any]) -> dict[str, Any]:
    recent = ApprovalRequest.objects.order_by("-id").values_list("tool_name", flat=True)[:RECENT]
    tools = set(recent) | ({chosen["tool"]} if "tool" in chosen else set())
    return {
        "tools": sorted(tools),
        "people": User.objects.order_by("username").values_list("username", flat=True)[:PEOPLE],
    }


@require_http_methods(["GET", "HEAD", "POST"])
def approval(request: SignedInRequest, request_id: uuid.UUID) -> HttpResponse:
    """One request by itself, to its readers and to whoever asked; a POST decides about it.

    A request of another tenant of the reader's is 404 with a button that switches there.
    """
    try:
        return _approval(request, request_id)
    except Http404:
        return _elsewhere(request, request_id)


@signed_in
def _approval(request: SignedInRequest, request_id: uuid.UUID) -> HttpResponse:
    found = _find(request.principal, request_id)
    refusal: Refused | None = None
    sent = Verdict(request.POST)
    if request.method == "POST":
        try:
            _decide(request.principal, found, sent)
        except Refused as error:
            refusal = error
        found = _find(request.principal, request_id)
    response: HttpResponse
    if request.accepts("application/json") and not request.accepts("text/html"):
        response = _json_answer(request, found, refusal)
    elif request.method == "POST" and refusal is None:
        return HttpResponseRedirect(request.path)
    else:
        card = cards.card(found, request.principal) | {"refusal": refusal}
        if refusal is not None:
            card |= {"reason": sent.data.get("reason", ""), "typed": sent.data.get("arguments") or card["typed"]}
        context = frame(request, "approvals") | {"card": card, "one": True}
        response = render(request, "approvals/approval.html", context, status=refusal.status if refusal else 200)
    patch_vary_headers(response, ["Accept"])
    return response


def _find(principal: Principal, request_id: uuid.UUID) -> Any:
    found = queue.visible().filter(id=request_id).first()
    if found is None or not _may_read(principal, found.user_id):
        raise Http404
    return found


def _may_read(principal: Principal, asker_id: uuid.UUID) -> bool:
    return "approvals:read" in principal.scopes or asker_id == principal.user_id


def _elsewhere(request: SignedInRequest, request_id: uuid.UUID) -> HttpResponse:
    """Says in which other tenant of the reader's the request is; raises Http404 when it is in none of them."""
    for principal, name in other_tenants(request):
        found = queue.look(principal, request_id)
        if found is not None and _may_read(principal, found["user"]["id"]):
            context = frame(request, "approvals") | {"tenant": {"id": principal.tenant_id, "name": name}}
            return render(request, "approvals/elsewhere.html", context, status=404)
    raise Http404


def _decide(principal: Principal, found: Any, sent: Verdict) -> None:
    if not sent.is_valid():
        raise Refused("The form is not complete.")
    values = sent.cleaned_data
    decider = decisions.Decider(principal.tenant_id, principal.user_id, "page")
    if values["verdict"] == "withdraw":
        async_to_sync(decisions.cancel)(decider.scope, found.id)
    elif values["verdict"] == "deny":
        async_to_sync(decisions.deny)(decider, found.id, reason=values["reason"])
    else:
        arguments, seen = _edited(found, values["arguments"]), values["seen"]
        async_to_sync(decisions.approve)(decider, found.id, reason=values["reason"], arguments=arguments, seen=seen)


def _edited(found: Any, text: str) -> dict[str, Any] | None:
    """The arguments that were typed, or None when they are as the form had them."""
    # A form's lines end in CRLF.
    if not text or text.replace("\r\n", "\n") == cards.typed(found):
        return None
    try:
        return parse(text)
    except ToolValidationError as error:
        raise InvalidArguments(error.message, f"arguments.{error.field}" if error.field else "arguments") from None


def _json_answer(request: SignedInRequest, found: Any, refusal: Refused | None) -> JsonResponse:
    """The card as it stands for a script, and why the decision was refused, if it was."""
    card = cards.card(found, request.principal)
    body = {
        "card": render_to_string("approvals/card.html", {"card": card}, request),
        "refused": refusal and {"code": refusal.code, "detail": refusal.detail, "field": refusal.field},
    }
    return JsonResponse(body, status=refusal.status if refusal else 200)


urlpatterns = [
    path("", approvals, name="approvals"),
    path("<uuid:request_id>/", approval, name="approval"),
]
