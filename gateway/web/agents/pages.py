"""A tenant's agents as pages: the list, one agent's form with a test chat beside it, its versions, archiving."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from audit.templatetags.audit_text import words
from gateway.models import Agent
from gateway.providers.routing import listing, resolution
from gateway.runs import loop
from gateway.runs.agents import changes, versions
from gateway.runs.agents import shown as agents_shown
from gateway.runs.agents.fields import MONEY
from gateway.runs.errors import AgentChanged, NoSuchAgent
from gateway.web.agents import forms
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.people.changes import plain

# Versions and agents that a page shows.
_PAGE, _LISTED = 30, 100
# What a new agent's form says first.
_FRESH: dict[str, Any] = {
    # None that its owner has not chosen.
    "tools": [],
    "max_turns": 8,
    "max_seconds": 120,
    "tool_seconds": 30,
    "max_result_bytes": 16_384,
}
_FIELD_WORDS = {name: label for name, (label, _) in forms.NUMBER_WORDS.items()} | {
    MONEY: forms.MONEY_WORDS[0],
    "is_default": "Default agent",
    "max_tier": "Highest tier",
    "on_refused_approval": "After a refused approval",
    "on_disconnect": "When a client hangs up",
    "pinned_tools": "Always shown",
}


@require_safe
@signed_in
def agents(request: SignedInRequest) -> HttpResponse:
    """The tenant's agents, the default one first; and those that are archived."""
    context = section_frame(request, "agents")
    every = Agent.objects.filter(tenant_id=request.principal.tenant_id)
    # Those that are archived come last.
    found = every.order_by(F("archived_at").asc(nulls_first=True), "-is_default", "slug")
    page = Paginator(found, _LISTED).get_page(request.GET.get("page"))
    context |= {
        # Each with how many US dollars its runs may cost.
        "agents": [(each, _money(each)) for each in page.object_list if not each.archived],
        "archived": [each for each in page.object_list if each.archived],
        "page_of": page,
        "default_model": loop.model_of(""),
    }
    return render(request, "settings/agents/list.html", context)


def _money(agent: Agent) -> str:
    return "" if agent.max_run_usd is None else plain(agent.max_run_usd)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new(request: SignedInRequest) -> HttpResponse:
    """The form of a new agent; a POST makes it."""
    context = section_frame(request, "agents")
    said: dict[str, Any] = dict(_FRESH)
    refusal: Refused | None = None
    if request.method == "POST":
        slug = request.POST.get("slug", "").strip()
        try:
            said = forms.given(request.POST)
            said["name"] = said["name"].strip() or slug
            changes.add(request.principal.tenant_id, said | {"slug": slug})
            messages.success(request, f"{slug} is made, and can be chosen in the chat.")
            return redirect("settings-agent", slug)
        except Refused as refused:
            refusal = refused
            context["slug"] = slug
            said = _typed(request, said)
    return _form(request, context | {"refusal": refusal}, said, None, refusal)


@require_http_methods(["GET", "HEAD", "POST"])
@ensure_csrf_cookie
@signed_in
def agent(request: SignedInRequest, slug: str) -> HttpResponse:
    """An agent's form, and a test chat; a POST changes it, unless somebody else has meanwhile."""
    context = section_frame(request, "agents")
    found = _found(request, slug)
    said = forms.values(found)
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            saved = changes.change(
                request.principal.tenant_id, slug, forms.given(request.POST), forms.version(request.POST)
            )
            changed = saved.version != found.version
            messages.success(request, f"Saved as version {saved.version}." if changed else "Nothing was different.")
            return redirect("settings-agent", slug)
        except Refused as refused:
            refusal = refused
            if isinstance(refused, AgentChanged):
                context["meanwhile"] = _since(found, forms.version(request.POST))
            said = _typed(request, said)
    return _form(request, context | {"refusal": refusal}, said, found, refusal)


def _typed(request: SignedInRequest, said: dict[str, Any]) -> dict[str, Any]:
    """The form once more as it was typed, a number that is none included."""
    post = request.POST
    texts = ("name", "instructions", "model", "max_tier", MONEY, *forms.NUMBER_WORDS)
    typed: dict[str, Any] = {name: post.get(name, "") for name in texts}
    typed |= {"tools": "all" if post.get("reach") == "all" else post.getlist("tool")}
    typed |= {"pinned_tools": post.get("pinned_tools", "").split(), "is_default": "is_default" in post}
    typed |= {"on_refused_approval": "halt" if "on_refused_approval" in post else "tell"}
    return said | typed | {"on_disconnect": "cancel" if "on_disconnect" in post else "continue"}


def _since(found: Agent, version: int | None) -> list[dict[str, Any]]:
    """The versions that somebody has made since the one that a form is based on."""
    if version is None:
        return []
    return [_version(each) for each in agents_shown.history(versions.of(found.pk).filter(number__gt=version)[:_PAGE])]


def _form(
    request: SignedInRequest,
    context: dict[str, Any],
    said: dict[str, Any],
    found: Agent | None,
    refusal: Refused | None,
) -> HttpResponse:
    shown = forms.shown(said, found)
    limits = ("max_run_tokens", MONEY, "max_offered_tools")
    context |= shown | {
        # Nobody has to look for limits that somebody has set.
        "limited": any(said.get(name) not in (None, "") for name in limits) or bool(said.get("pinned_tools")),
        "choices": forms.choices(request.principal.tenant_id, shown["chosen"]),
        "models": listing.models(resolution.read_now(request.principal.tenant_id), loop.providers()),
        "default_model": loop.model_of(""),
        "words": words(),
    }
    return render(request, "settings/agents/agent.html", context, status=refusal.status if refusal else 200)


@require_safe
@signed_in
def history(request: SignedInRequest, slug: str) -> HttpResponse:
    """An agent's versions, with what each changed; a page of them."""
    context = section_frame(request, "agents")
    found = _found(request, slug)
    page = Paginator(versions.of(found.pk), _PAGE).get_page(request.GET.get("page"))
    listed = [_version(each) for each in agents_shown.history(page.object_list)]
    context |= {"agent": found, "versions": listed, "page_of": page}
    return render(request, "settings/agents/versions.html", context)


@require_POST
@signed_in
def restore(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Make an agent what it was in a version, as a new one."""
    section_frame(request, "agents")
    _found(request, slug)
    try:
        restored = changes.restore(request.principal.tenant_id, slug, number, forms.version(request.POST))
    except Refused as refused:
        messages.error(request, f"Nothing was changed: {refused.detail}", extra_tags="bad")
        return redirect("settings-agent-versions", slug)
    messages.success(request, f"Version {number} is taken back, as version {restored.version}.")
    return redirect("settings-agent", slug)


@require_POST
@signed_in
def archive(request: SignedInRequest, slug: str) -> HttpResponse:
    """Have nothing begin with an agent any more; with `back`, have runs begin with it again."""
    section_frame(request, "agents")
    _found(request, slug)
    back = "back" in request.POST
    try:
        changes.change(request.principal.tenant_id, slug, {}, archived=not back)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect("settings-agent", slug)
    messages.success(request, f"{slug} is back." if back else f"{slug} is archived. Runs that have begun go on.")
    return redirect("settings-agent", slug) if back else redirect("settings-agents")


def _version(body: dict[str, Any]) -> dict[str, Any]:
    changed = [
        (_FIELD_WORDS.get(name, name.capitalize()), _lines(before), _lines(after))
        for name, (before, after) in body["changes"].items()
    ]
    return body | {"changed": changed}


def _lines(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)


def _found(request: SignedInRequest, slug: str) -> Agent:
    try:
        return changes.found(request.principal.tenant_id, slug)
    except NoSuchAgent:
        raise Http404 from None
