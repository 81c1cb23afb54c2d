"""What one's calls ask: those that wait, and the form that answers one, on a page of its own and inside the chat."""

import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_safe

from approvals.models import Question
from approvals.questions import answering
from approvals.web import question_forms
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.scope.transactions import TenantScope

SHOWN = 50


@require_safe
@signed_in
def questions(request: SignedInRequest) -> HttpResponse:
    """One's own questions that wait, and below them the last ones that do not any more."""
    mine = Question.objects.filter(user_id=request.principal.user_id)
    waiting = mine.filter(status=Question.Status.PENDING, expires_at__gt=datetime.now(UTC)).order_by("id")[:SHOWN]
    past = mine.exclude(status=Question.Status.PENDING)[:SHOWN]
    context = {"waiting": [_card(each) for each in waiting], "past": [_card(each) for each in past]}
    return render(request, "questions/questions.html", frame(request, "questions") | context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def question(request: SignedInRequest, question_id: uuid.UUID) -> HttpResponse:
    """One's own question; a POST answers it. Another's is 404. htmx gets the question alone."""
    principal = request.principal
    refusal: Refused | None = None
    found = _find(principal.user_id, question_id)
    typed: dict[str, Any] | None = None
    if request.method == "POST":
        action = request.POST.get("action", "")
        if action == "accept" and found.schema is not None:
            typed = question_forms.content(found.schema, request.POST)
        try:
            scope = TenantScope(principal.tenant_id, principal.user_id)
            async_to_sync(answering.answer)(scope, question_id, action, typed, via="page")
        except Refused as error:
            refusal = error
        found = _find(principal.user_id, question_id)
    htmx: Any = request.htmx  # type: ignore[attr-defined]
    part = bool(htmx) and not htmx.history_restore_request
    context = {"card": _card(found, typed if refusal else None) | {"refusal": refusal}}
    # htmx shows no answer with another status.
    status = refusal.status if refusal and not part else 200
    if part:
        response = render(request, "questions/question.html", context)
    elif request.method == "POST" and refusal is None:
        return HttpResponseRedirect(request.path)
    else:
        response = render(request, "questions/one.html", frame(request, "questions") | context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _find(user_id: uuid.UUID, question_id: uuid.UUID) -> Question:
    found = Question.objects.filter(id=question_id, user_id=user_id).first()
    if found is None:
        raise Http404
    return found


def _card(each: Question, typed: dict[str, Any] | None = None) -> dict[str, Any]:
    """A question as its template shows it."""
    open_ = each.status == Question.Status.PENDING and each.expires_at > datetime.now(UTC)
    status = each.status if open_ or each.status != Question.Status.PENDING else Question.Status.EXPIRED
    return {
        "question": each,
        "open": open_,
        "status": status,
        "host": urlsplit(each.url).hostname if each.url else "",
        "fields": question_forms.fields(each.schema, typed) if open_ and each.schema else [],
    }


urlpatterns = [
    path("", questions, name="questions"),
    path("<uuid:question_id>/", question, name="question"),
]
