"""A tenant's tools as pages: servers, the tools of one, and one tool: its setting, its grants, and why not."""

import uuid
from collections import Counter
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gateway.models import Agent
from gateway.runs.agents import member_access, tool_settings
from gateway.runs.agents.member_access import Access
from gateway.runs.agents.tool_settings import TenantTool
from gateway.runs.errors import NoSuchAgent
from gateway.web.tools import fetch_hosts, forms
from services.models import Service
from services.web import audience
from services.web.forms import LABEL_WORDS, TIER_WORDS
from tenants.errors import Refused
from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.login.meanwhile import BASED_ON
from tenants.me.frame import section_frame
from tenants.models import Membership, Role, Tenant
from tenants.people import recorded
from tenants.people.changes import revision
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope
from tools.gates import order
from tools.gates.policy import names_of
from tools.interface import Tool
from tools.models import Grant
from tools.settings import grants
from tools.settings.errors import InvalidGrant, NoSuchGrant, NoSuchTool

TOOLS, SERVERS = 50, 100
# Grants, and choices of a field.
_OFFERED = 500


@require_safe
@signed_in
def servers(request: SignedInRequest) -> HttpResponse:
    """Where tools come from: this Toolgate, and each service; with how many are on."""
    context = section_frame(request, "tools")
    tools = tool_settings.of_tenant(request.principal.tenant_id)
    every, on = Counter(each.service for each in tools), Counter(each.service for each in tools if each.enabled)
    services = Service.objects.filter(tenant_id=request.principal.tenant_id).order_by("slug")
    page = Paginator(services, SERVERS).get_page(request.GET.get("page"))
    own = [("", "Notes, tasks, mail and search, of this Toolgate itself", True)] if page.number == 1 else []
    context["page_of"] = page
    context["servers"] = [
        {"slug": slug, "about": about, "all": every[slug], "on": on[slug], "off": not enabled}
        for slug, about, enabled in [
            *own,
            *((each.slug, each.description or each.url, each.enabled) for each in page.object_list),
        ]
    ]
    return render(request, "settings/tools/servers.html", context)


@require_safe
@signed_in
def built_in(request: SignedInRequest) -> HttpResponse:
    """The tools of this Toolgate itself."""
    return _tools(request, section_frame(request, "tools"), "")


@require_safe
@signed_in
def of_service(request: SignedInRequest, slug: str) -> HttpResponse:
    """The tools of a service."""
    context = section_frame(request, "tools")
    if "\x00" in slug or not Service.objects.filter(tenant_id=request.principal.tenant_id, slug=slug).exists():
        raise Http404
    return _tools(request, context, slug)


def _tools(request: SignedInRequest, context: dict[str, Any], slug: str) -> HttpResponse:
    words = request.GET.get("q", "")[:200].lower().split()
    found = [
        each
        for each in tool_settings.of_tenant(request.principal.tenant_id, slug)
        if all(word in f"{each.tool.name} {each.tool.description}".lower() for word in words)
    ]
    page = Paginator(found, TOOLS).get_page(request.GET.get("page"))
    context |= {"server": slug, "page_of": page, "tools": [_shown(each) for each in page.object_list]}
    context |= {"q": " ".join(words), "query": f"&{urlencode({'q': ' '.join(words)})}" if words else ""}
    return render(request, "settings/tools/tools.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def tool(request: SignedInRequest, name: str) -> HttpResponse:
    """A tool: what is said of it, who may use it, and with `?user=` why somebody may not. A POST says it anew."""
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            with _within(request):
                section_frame(request, "tools")
                given = forms.given(request.POST, _found(request, name))
                planned = tool_settings.plan(request.principal.tenant_id, name, given)
                if planned.raises:
                    reauthentication.demand(request, request.principal)
                tool_settings.carry_out(planned)
            messages.success(request, f"{name} is changed.")
            return redirect("settings-tool", name)
        except reauthentication.ReauthenticationRequired:
            raise
        except Refused as refused:
            refusal = refused
    return _tool(request, name, refusal)


def _tool(request: SignedInRequest, name: str, refusal: Refused | None) -> HttpResponse:
    tenant_id = request.principal.tenant_id
    user, agent = request.GET.get("user", "").strip(), request.GET.get("agent", "").strip()
    with _within(request):
        context = section_frame(request, "tools")
        _found(request, name)
        asked, problem = _asked(tenant_id, user)
    access = None
    if asked is not None:
        try:
            access = async_to_sync(member_access.of)(TenantScope(tenant_id, asked), name, agent or None)
        except NoSuchAgent as nobody:
            problem = nobody.detail
    with _within(request):
        found = _found(request, name)
        context |= {"based_on": request.POST.get(BASED_ON) if refusal else found.revision}
        context |= {"tool": _shown(found), "refusal": refusal, "post": request.POST if refusal else None}
        context |= {
            "audience": audience.of(tenant_id, name),
            "grants": _grants(tenant_id, found),
            **_choices(tenant_id, found),
        }
        if name == fetch_hosts.TOOL:
            tenant = Tenant.objects.get(id=tenant_id)
            context["fetch_hosts"] = "\n".join(tenant.fetch_hosts)
            context["fetch_hosts_based_on"] = revision(tenant=recorded.TENANT.of(tenant))
        context |= {"user": user, "agent": agent, "problem": problem, "access": access, "gates": _gates(access)}
        return render(request, "settings/tools/tool.html", context, status=refusal.status if refusal else 200)


def _asked(tenant_id: uuid.UUID, user: str) -> tuple[uuid.UUID | None, str]:
    if not user:
        return None, ""
    try:
        return grants.member(tenant_id, user), ""
    except InvalidGrant as nobody:
        return None, nobody.detail


def _gates(access: Access | None) -> list[dict[str, Any]]:
    """Each gate's answer, in words: whether it let the call through, held it, or refused it."""
    found = []
    for each in (access.gates or ()) if access else ():
        passed, refused = order.label(each.gate) or (each.gate, each.gate)
        state = "holds" if each.ok and each.holds else "passed" if each.ok else "refused"
        found.append({"state": state, "label": refused if state != "passed" else passed, "why": each.user or each.log})
    return found


def _shown(found: TenantTool) -> dict[str, Any]:
    """A tool as pages show it."""
    row = found.row
    body = found.body() | {"closed": "", "labels": [], "own_name": found.tool.name, "raised": found.setting.tier}
    if row is not None:
        labels = [words for label, words in LABEL_WORDS.items() if getattr(row, label)]
        body |= {"own_name": row.name, "labels": labels}
        if row.hash != row.accepted_hash:
            body["closed"] = "gone" if not row.hash else "changed"
        elif not row.service.enabled:
            body["closed"] = "service"
    return body


def _floor(tool: Tool) -> int:
    """Saying a tier up to this rank changes nothing."""
    return tool.tier.rank - (tool.least_tier is not None)


def _declared(tool: Tool) -> str:
    """What the tool's own tier is, in words."""
    if tool.least_tier is None:
        return TIER_WORDS[tool.tier]
    return f"{tool.least_tier.capitalize()} or {tool.tier}, as its arguments say"


def _choices(tenant_id: uuid.UUID, found: TenantTool) -> dict[str, Any]:
    """What can be chosen for the tool, and of whom it can be asked."""
    # A service's tool has the tier that its owners give it; others declare one, and nobody goes below it.
    tiers = [tier for tier in TIER_WORDS if found.row is not None or tier.rank > _floor(found.tool)]
    members = Membership.objects.filter(tenant_id=tenant_id).select_related("user").order_by("user__username")
    service = names_of(found.tool)[1:]
    return {
        "tiers": [(str(tier), TIER_WORDS[tier]) for tier in tiers],
        "declared_words": _declared(found.tool),
        "waits": forms.waits(found.setting.approval_seconds),
        "members": [(each.user.username, each.role) for each in members[:_OFFERED]],
        "roles": Role.values,
        "agents": Agent.objects.filter(tenant_id=tenant_id, archived_at=None).order_by("-is_default", "slug")[
            :_OFFERED
        ],
        "grant_names": [found.tool.name, *service, grants.EVERY_TOOL],
    }


def _grants(tenant_id: uuid.UUID, found: TenantTool) -> list[Grant]:
    """Those that name the tool, its service, or all tools; REST has all when they are very many."""
    names = (*names_of(found.tool), grants.EVERY_TOOL)
    return list(grants.of(tenant_id).filter(tool_name__in=names)[:_OFFERED])


@require_POST
@signed_in
def grant(request: SignedInRequest, name: str) -> HttpResponse:
    """Give a grant of the tool, of its service's tools, or of all tools."""
    section_frame(request, "tools")
    _found(request, name)
    tenant_id, post = request.principal.tenant_id, request.POST
    given = {key: post.get(key, "").strip() for key in ("tool", "effect", "user", "role")}
    try:
        wanted = grants.read(tenant_id, given, lambda named: tool_settings.exists(tenant_id, named))
    except InvalidGrant as refused:
        messages.error(request, f"Nothing was granted: {refused.detail}", extra_tags="bad")
        return redirect("settings-tool", name)
    grants.add(wanted)
    messages.success(request, "The grant holds from now on.")
    return redirect("settings-tool", name)


@require_POST
@signed_in
def ungrant(request: SignedInRequest, name: str, id: uuid.UUID) -> HttpResponse:
    """Take a grant away."""
    section_frame(request, "tools")
    _found(request, name)
    try:
        found = grants.found(request.principal.tenant_id, id)
    except NoSuchGrant:
        messages.error(request, "This grant has been taken away already.", extra_tags="wait")
        return redirect("settings-tool", name)
    grants.remove(found)
    messages.success(request, "The grant is taken away.")
    return redirect("settings-tool", name)


def _found(request: SignedInRequest, name: str) -> TenantTool:
    try:
        return tool_settings.found(request.principal.tenant_id, name)
    except NoSuchTool:
        raise Http404 from None


def _within(request: SignedInRequest) -> Any:
    return transactions.scope(request.principal.tenant_id, request.principal.user_id)
