"""A tenant's services as pages: the list, one service with its tools, and its settings."""

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from services import changes, recorded, shown, testing
from services.errors import NoSuchService
from services.models import Service
from services.reading import sources
from services.web import forms, lists
from services.web.requests import found_or_404, owner_section, scope_of, within
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.login.meanwhile import BASED_ON
from tenants.people.changes import revision


@require_safe
@signed_in
def services(request: SignedInRequest) -> HttpResponse:
    """The tenant's services, by slug."""
    context = owner_section(request)
    page = Paginator(Service.objects.order_by("slug"), lists.SERVICES).get_page(request.GET.get("page"))
    context |= {"page_of": page, "services": lists.services(page.object_list), "kinds": forms.KIND_WORDS}
    return render(request, "settings/services/list.html", context)


@require_safe
@signed_in
def service(request: SignedInRequest, slug: str) -> HttpResponse:
    """One service: how it is, and its tools, of which `q` and `show` choose some."""
    context = owner_section(request)
    found = found_or_404(slug)
    words, which = request.GET.get("q", "")[:200], request.GET.get("show", "")
    page = Paginator(lists.tools(found, words, which), lists.TOOLS).get_page(request.GET.get("page"))
    last = shown.last_calls(found.tenant_id, [each.tool_name for each in page.object_list if each.enabled])
    context |= {
        **head(found),
        "tab": "tools",
        "page_of": page,
        "tools": [lists.tool(each, last) for each in page.object_list],
        "q": words,
        "show": which if which in lists.SHOWN else "",
        "query": "".join(f"&{quoted}" for quoted in [urlencode({"q": words, "show": which})] if words or which),
    }
    return render(request, "settings/services/service.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """The settings of a service; a POST changes them. A credential is only ever written."""
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            with within(request):
                owner_section(request)
                changes.change(slug, _given(request))
            messages.success(request, f"{slug} is changed.")
            return redirect("settings-service", slug)
        except NoSuchService:
            raise Http404 from None
        except Refused as error:
            refusal = error
    with within(request):
        context = owner_section(request) | {"refusal": refusal, "credentials": forms.CREDENTIALS}
        found = found_or_404(slug)
        context |= {**head(found), "tab": "settings", "post": request.POST}
        context["based_on"] = request.POST.get(BASED_ON) if refusal else revision(service=recorded.service(found))
        return render(request, "settings/services/edit.html", context, status=refusal.status if refusal else 200)


def _given(request: SignedInRequest) -> dict[str, object]:
    post = request.POST
    given: dict[str, object] = {name: name in post for name in ("enabled", "in_prompts")}
    given |= {"url": post.get("url", "").strip(), "timeout": forms.seconds(post)}
    return given if post.get("credential") == "keep" else given | {"credential": forms.credential(post)}


@require_POST
@members_only
def test(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask the service's address once, and say what came of it."""
    with within(request):
        owner_section(request)
        found = found_or_404(slug)
    answer = async_to_sync(testing.test)(found, scope_of(request))
    status = f" (HTTP {answer['status']})" if answer["status"] else ""
    say = messages.success if answer["ok"] else messages.error
    say(request, f"Test: {answer['detail']}{status} {answer['ms']} ms", extra_tags="" if answer["ok"] else "bad")
    return redirect("settings-service", slug)


@require_POST
@members_only
def refresh(request: SignedInRequest, slug: str) -> HttpResponse:
    """Read what the service offers now; what changed is closed until it is accepted."""
    with within(request):
        owner_section(request)
        found = found_or_404(slug)
    try:
        source = async_to_sync(sources.again)(found, {}, scope_of(request))
        with within(request):
            changed = lists.numbers(changes.refresh(slug, source))["changed"]
    except NoSuchService:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, f"Nothing was changed: {refused.detail}", extra_tags="bad")
        return redirect("settings-service", slug)
    if changed:
        words = "tool is not as it was" if changed == 1 else "tools are not as they were"
        messages.warning(request, f"{changed} {words} accepted, and closed until you accept.", extra_tags="wait")
        return redirect(reverse("settings-service", args=[slug]) + "?show=changed")
    messages.success(request, "Read again: every tool is as it was accepted.")
    return redirect("settings-service", slug)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def remove(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask whether a service is to be removed; a POST removes it."""
    with within(request):
        context = owner_section(request)
        found = found_or_404(slug)
        if request.method != "POST":
            return render(request, "settings/services/remove.html", context | head(found))
        changes.remove(slug)
    messages.success(request, f"{slug} is removed. The record of its calls stays.")
    return redirect("settings-services")


def head(found: Service) -> dict[str, object]:
    """What the pages of one service have in common."""
    about = shown.summary(found, shown.connected([found]))
    about |= {name: getattr(found, name) for name in ("feeds", "skill", "skill_problem", "in_prompts", "mcp")}
    numbers, kind = lists.numbers(found), forms.KIND_WORDS.get(found.kind, found.kind)
    words = forms.credential_words(about["credential"])
    return {
        "service": about,
        "kind": kind,
        "numbers": numbers,
        "status": lists.status(found),
        "credential_words": words,
    }
