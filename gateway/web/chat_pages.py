"""The chat page: the person's conversations, and one of them opened."""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from csp.decorators import csp_update
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
from gateway.providers.routing import listing, resolution
from gateway.runs import loop
from gateway.runs.conversations import search as conversation_search
from gateway.runs.conversations.searching import searching
from gateway.runs.errors import TooManySearches
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.people.principal import Principal
from tenants.scope.jsonb import JSONField
from tools.keeping import canvases

CONVERSATIONS = 40
_NO_THREAD: dict[str, Any] = {"conversation": None, "runs": [], "earlier": None}
RUNS = 30
# Agents in the composer's menu.
MENU = 200
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
    # The agent to begin with.
    agent = forms.SlugField(required=False, max_length=64)


# The frame of what a model drew, which has a policy of its own (`tools.keeping.canvas_pages`).
@csp_update({"frame-src": ["'self'"]})
@require_safe
@ensure_csrf_cookie
@signed_in
def chat(request: SignedInRequest) -> HttpResponse:
    """The chat, with `?c=` open in it; htmx asks for the list at the side alone, with `?q=` and `?after=`."""
    place = _Place(request.GET)
    if not place.is_valid():
        raise Http404
    principal, wanted = request.principal, place.cleaned_data
    opened = conversation_search.own(principal, workers=True).filter(id=wanted["c"]).first() if wanted["c"] else None
    if wanted["c"] and opened is None:
        raise Http404
    try:
        with searching(principal, wanted["q"]):
            listed = _listed(principal, wanted["q"], wanted["after"])
    except TooManySearches as busy:
        refusal = render(request, "chat/busy.html", {"seconds": busy.retry_after}, status=busy.status)
        for name, value in busy.headers.items():
            refusal[name] = value
        return refusal
    context: dict[str, Any] = listed | {"opened": opened, "q": wanted["q"]}
    if request.htmx:  # type: ignore[attr-defined]
        response = render(request, "chat/conversations.html", context)
    else:
        thread = _thread(opened, wanted["before"]) if opened else _NO_THREAD
        agents, chosen = _agents(principal, opened, wanted["agent"])
        context |= frame(request, "chat") | {
            "thread": thread | {"canvas": opened is not None and canvases.own(principal, opened.id).exists()},
            "words": words(),
            "agents": agents[:MENU],
            "more_agents": len(agents) > MENU,
            "models": listing.models(resolution.read_now(principal.tenant_id), loop.providers()),
            "chosen": chosen,
            "demo": _is_demo(agents),
            "examples": EXAMPLES,
        }
        response = render(request, "chat/chat.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _is_demo(agents: list[Agent]) -> bool:
    model = next((agent.model for agent in agents if agent.is_default), "") or settings.DEFAULT_MODEL
    return model.startswith("offline/")


def _agents(principal: Principal, opened: Conversation | None, slug: str) -> tuple[list[Agent], dict[str, str]]:
    """The agents of the composer's menu, up to one beyond MENU: the default one first, then the one that is chosen, and
    what is chosen: `agent` is a slug, `model` is empty for the agent's own.

    That is the one that is asked for by its `slug`, else what the conversation went on with last.
    """
    last = Run.objects.filter(conversation_id=opened.id).order_by("-created_at").first() if opened else None
    wanted = Q(slug=slug) if slug else Q(id=last.agent_id if last else None)
    found = Agent.objects.filter(tenant_id=principal.tenant_id, archived_at=None)
    agents = list(found.order_by("-is_default", Case(When(wanted, then=0), default=1), "slug")[: MENU + 1])
    agent = next((each for each in agents if (each.slug == slug if slug else last and each.id == last.agent_id)), None)
    if agent is None:
        return agents, {"agent": agents[0].slug if agents else "", "model": ""}
    asked = last is not None and not slug and last.model != loop.model_of(agent.model)
    return agents, {"agent": agent.slug, "model": last.model if last is not None and asked else ""}


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
    messages = Message.objects.filter(tenant_id=opened.tenant_id, run_id__in=ids, role=Message.Author.USER)
    asked = {message.run_id: message for message in messages}
    turns, calls = _by_run(_turns(opened, ids)), _by_run(_calls(opened, ids))
    return {
        "conversation": str(opened.id),
        "runs": [_run(run, asked.get(run.id), turns[run.id], calls[run.id]) for run in shown],
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


def _run(run: Run, asked: Message | None, turns: list[Turn], calls: list[ToolCall]) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "status": "in_progress" if run.status == Run.Status.WAITING else run.status,
        "incomplete_reason": run.incomplete_reason,
        "error": {"code": run.error_code, "message": run.error_message} if run.error_code else None,
        "question": asked.content if asked else "",
        "attachments": asked.attachments if asked else [],
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
