"""The chat page: the person's conversations, and one of them opened."""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.db.models import Case, F, Q, Value, When
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from audit.models import ToolCall
from audit.templatetags.audit_text import words
from gateway.models import Agent, Conversation, Message, Run, Turn
from gateway.runs import conversation_search, loop
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.people.principal import Principal
from tenants.scope.jsonb import JSONField

CONVERSATIONS = 40
RUNS = 30
# A larger output is read on the call's own page: a thread of them would not fit in one.
OUTPUT_BYTES = 16 * 1024
EXAMPLES = [
    ("search", "Search the web", "Search the web for row-level security in PostgreSQL"),
    ("note", "Save a note", "Save a note: the spare key is with the neighbours"),
    ("task", "Add a task", "Add a high priority task to call the bank"),
    ("list", "See your tasks", "Show my open tasks"),
]


class _Place(forms.Form):
    """Where in the conversations the page stands; a value that makes no sense is 404."""

    c = forms.UUIDField(required=False)
    # Of the list at the side: the words to look for, and the conversation to go on after.
    q = forms.CharField(required=False, max_length=conversation_search.LONGEST)
    after = forms.UUIDField(required=False)
    # Of the opened conversation: the run to go back from.
    before = forms.UUIDField(required=False)


@require_safe
@ensure_csrf_cookie
@signed_in
def chat(request: SignedInRequest) -> HttpResponse:
    """The chat, with `?c=` open in it; htmx asks for the list at the side alone, with `?q=` and `?after=`."""
    place = _Place(request.GET)
    if not place.is_valid():
        raise Http404
    principal, wanted = request.principal, place.cleaned_data
    opened = conversation_search.own(principal).filter(id=wanted["c"]).first() if wanted["c"] else None
    if wanted["c"] and opened is None:
        raise Http404
    context: dict[str, Any] = _listed(principal, wanted["q"], wanted["after"]) | {"opened": opened, "q": wanted["q"]}
    if request.htmx:  # type: ignore[attr-defined]
        response = render(request, "chat/conversations.html", context)
    else:
        thread = _thread(opened, wanted["before"]) if opened else {"conversation": None, "runs": [], "earlier": None}
        agents = list(Agent.objects.filter(tenant_id=principal.tenant_id).order_by("-is_default", "slug"))
        context |= frame(request, "chat") | {
            "thread": thread,
            "words": words(),
            "agents": agents,
            "models": loop.providers().models(),
            "chosen": _last_chosen(opened, agents),
            "demo": _is_demo(agents),
            "examples": EXAMPLES,
        }
        response = render(request, "chat/chat.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _is_demo(agents: list[Agent]) -> bool:
    model = next((agent.model for agent in agents if agent.is_default), "") or settings.DEFAULT_MODEL
    return model.startswith("offline/")


def _last_chosen(opened: Conversation | None, agents: list[Agent]) -> dict[str, str]:
    """The agent and the model that the conversation went on with last, as the composer offers them: `agent` is a slug,
    `model` is empty for the agent's own."""
    last = Run.objects.filter(conversation_id=opened.id).order_by("-created_at").first() if opened else None
    agent = next((each for each in agents if last is not None and each.id == last.agent_id), None)
    if last is None or agent is None:
        return {"agent": agents[0].slug if agents else "", "model": ""}
    return {"agent": agent.slug, "model": "" if last.model == loop.model_of(agent.model) else last.model}


def _listed(principal: Principal, words: str, after: uuid.UUID | None) -> dict[str, Any]:
    """A page of the list at the side, and the query of the next one as `older`, if there is one."""
    conversations = conversation_search.own(principal, words)
    if after:
        last = conversations.filter(id=after).first()
        if last is None:
            raise Http404
        conversations = conversations.filter(
            Q(updated_at__lt=last.updated_at) | Q(updated_at=last.updated_at, id__lt=last.id)
        )
    found = list(conversations.order_by("-updated_at", "-id")[: CONVERSATIONS + 1])
    shown = found[:CONVERSATIONS]
    more = {"after": shown[-1].id, "q": words} if len(found) > CONVERSATIONS else {}
    return {"conversations": shown, "older": urlencode({name: value for name, value in more.items() if value})}


def _thread(opened: Conversation, before: uuid.UUID | None) -> dict[str, Any]:
    """The conversation's last runs, or those before one, as the page's scripts draw them."""
    runs = Run.objects.filter(tenant_id=opened.tenant_id, conversation_id=opened.id)
    if before:
        first = runs.filter(id=before).first()
        if first is None:
            raise Http404
        runs = runs.filter(Q(created_at__lt=first.created_at) | Q(created_at=first.created_at, id__lt=first.id))
    found = list(runs.order_by("-created_at", "-id")[: RUNS + 1])
    shown = list(reversed(found[:RUNS]))
    ids = [run.id for run in shown]
    asked = dict(
        Message.objects.filter(tenant_id=opened.tenant_id, run_id__in=ids, role=Message.Author.USER).values_list(
            "run_id", "content"
        )
    )
    turns, calls = _by_run(_turns(opened, ids)), _by_run(_calls(opened, ids))
    return {
        "conversation": str(opened.id),
        "runs": [_run(run, asked.get(run.id, ""), turns[run.id], calls[run.id]) for run in shown],
        "earlier": str(shown[0].id) if len(found) > RUNS else None,
    }


def _by_run(rows: Iterable[Any]) -> dict[uuid.UUID, list[Any]]:
    grouped: dict[uuid.UUID, list[Any]] = defaultdict(list)
    for row in rows:
        grouped[row.run_id].append(row)
    return grouped


def _turns(opened: Conversation, run_ids: list[uuid.UUID]) -> Iterable[Turn]:
    return Turn.objects.filter(tenant_id=opened.tenant_id, run_id__in=run_ids).order_by("number")


def _calls(opened: Conversation, run_ids: list[uuid.UUID]) -> Iterable[ToolCall]:
    small = When(output_bytes__lte=OUTPUT_BYTES, then=F("output"))
    return (
        ToolCall.objects.filter(tenant_id=opened.tenant_id, run_id__in=run_ids)
        .annotate(small_output=Case(small, default=Value(None), output_field=JSONField()))
        .defer("output", "decision", "side_effects", "input_raw", "row_key")
        .order_by("turn", "position")
    )


def _run(run: Run, question: str, turns: list[Turn], calls: list[ToolCall]) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "status": run.status,
        "incomplete_reason": run.incomplete_reason,
        "error": {"code": run.error_code, "message": run.error_message} if run.error_code else None,
        "question": question,
        "asked_at": _moment(run.created_at),
        "turns": [{"turn": turn.number, "text": turn.text} for turn in turns],
        "tool_calls": [_call(call) for call in calls],
    }


def _call(call: Any) -> dict[str, Any]:
    error = {"code": call.error_code, "message": call.error_message, "field": call.error_field}
    return {
        "id": str(call.id),
        "tool": call.tool_name,
        "input": call.input,
        "status": call.status,
        "output": call.small_output,
        "display": call.display,
        "error": error if call.error_code else None,
        "execution_time_ms": call.execution_time_ms,
        "turn": call.turn,
    }


def _moment(moment: datetime) -> str:
    return moment.isoformat()
