"""One tool of a service as a page, and what is done with several of them."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from services import changes, recorded, shown
from services.errors import InvalidService, NoSuchService
from services.models import ServiceTool
from services.web import audience, forms, lists
from services.web.requests import found_or_404, owner_section, within
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only
from tenants.login.meanwhile import BASED_ON
from tenants.people.changes import revision


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def tool(request: SignedInRequest, slug: str, name: str) -> HttpResponse:
    """A tool: its definition, what changed in it, what its tenant says of it, and who may use it.

    A POST changes what the tenant says. What lets calls do more is asked about first.
    """
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            with within(request):
                context = owner_section(request)
                row = _found(slug, name)
                given = forms.tool_change(request.POST) | {"enabled": "enabled" in request.POST}
                raised = forms.raises(row, given)
                if raised and "confirmed" not in request.POST:
                    context |= _about(row) | {"raised": raised, "post": request.POST}
                    changes.check_tool(row, given)
                    return render(request, "settings/services/confirm.html", context)
                changes.change_tool(slug, name, given)
            messages.success(request, f"{slug}.{name} is changed.")
            return redirect("settings-service-tool", slug, name)
        except Refused as error:
            refusal = error
    with within(request):
        context = owner_section(request)
        row = _found(slug, name)
        context |= _about(row) | {"refusal": refusal}
        context["based_on"] = request.POST.get(BASED_ON) if refusal else revision(service_tool=recorded.tool(row))
        context["audience"] = audience.of(request.principal.tenant_id, f"{slug}.{name}")
        return render(request, "settings/services/tool.html", context, status=refusal.status if refusal else 200)


@require_POST
@members_only
def accept(request: SignedInRequest, slug: str, name: str) -> HttpResponse:
    """Accept a tool as it was shown; refused when it is another one by now."""
    try:
        with within(request):
            owner_section(request)
            _found(slug, name)
            left = changes.accept(slug, name, {"hash": request.POST.get("hash", "")})
    except Refused as refused:
        messages.error(request, f"Not accepted: {refused.detail}", extra_tags="bad")
        return redirect("settings-service-tool", slug, name)
    if left is None:
        messages.success(request, f"{slug}.{name} is removed, as its service has removed it.")
        return redirect("settings-service", slug)
    messages.success(request, f"{slug}.{name} is accepted as it is now.")
    return redirect("settings-service-tool", slug, name)


@require_POST
@members_only
def several(request: SignedInRequest, slug: str) -> HttpResponse:
    """Switch the chosen tools off at once, or on, once it was said how far each of them reaches."""
    names = list(dict.fromkeys(request.POST.getlist("tool")))[: lists.TOOLS]
    action = request.POST.get("action", "")
    try:
        with within(request):
            context = owner_section(request)
            found = found_or_404(slug)
            rows = list(ServiceTool.objects.filter(service=found, name__in=_storable(names)).order_by("tool_name"))
            if rows and action == "on" and "confirmed" not in request.POST:
                tools = [lists.tool(each) for each in rows]
                context |= {"service": shown.summary(found), "tools": tools, **_words()}
                return render(request, "settings/services/switch_on.html", context)
            for each in rows:
                changes.change_tool(slug, each.name, _of_several(request.POST, each.name, action))
    except Refused as refused:
        messages.error(request, f"Nothing was changed: {refused.detail}", extra_tags="bad")
        return redirect("settings-service", slug)
    if rows:
        which = f"{len(rows)} tool is" if len(rows) == 1 else f"{len(rows)} tools are"
        messages.success(request, f"{which} switched {action}.")
    else:
        messages.error(request, "Choose at least one tool.", extra_tags="wait")
    return redirect("settings-service", slug)


def _of_several(post: QueryDict, name: str, action: str) -> dict[str, Any]:
    if action == "off":
        return {"enabled": False}
    if action == "on":
        return forms.tool_change(post, f"{name}.") | {"enabled": True}
    raise InvalidService("Choose whether to switch them on or off.", "action")


def _found(slug: str, name: str) -> ServiceTool:
    try:
        return changes.found_tool(slug, name)
    except NoSuchService:
        raise Http404 from None


def _about(row: ServiceTool) -> dict[str, Any]:
    service = row.service
    last = shown.last_calls(row.tenant_id, [row.tool_name])
    return {"service": shown.summary(service), "tool": lists.tool(row, last), **_words()}


def _words() -> dict[str, Any]:
    return {"tiers": [(str(tier), words) for tier, words in forms.TIER_WORDS.items()]}


def _storable(names: list[str]) -> list[str]:
    return [each for each in names if "\x00" not in each]
