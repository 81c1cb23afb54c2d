"""Adding a service from the catalogue, on a page that shows what is suggested to say of its tools."""

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from services import changes
from services.changes import NewService
from services.descriptors import catalogue
from services.errors import InvalidService
from services.reading import sources
from services.web import forms
from services.web.requests import owner_section, scope_of, within
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def add(request: SignedInRequest, name: str) -> HttpResponse:
    """One entry, with a form for what its owner has to say; a POST adds it."""
    owner_section(request)
    try:
        entry = catalogue.found(name)
    except InvalidService:
        raise Http404 from None
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            slug = _added(request, name)
            messages.success(request, f"{slug} is added. Choose the tools to switch on.")
            return redirect("settings-service", slug)
        except Refused as error:
            refusal = error
    with within(request):
        context = owner_section(request) | {"entry": catalogue.shown(entry), "credentials": forms.CREDENTIALS}
        context |= {"refusal": refusal, "post": request.POST, "tiers": forms.TIER_WORDS}
        if request.method != "POST":
            context["post"] = {"slug": entry.name, "credential": entry.credential, "url": entry.url}
        return render(request, "settings/services/entry.html", context, status=refusal.status if refusal else 200)


def _added(request: SignedInRequest, name: str) -> str:
    post = request.POST
    given: dict[str, Any] = {"catalogue": name, "slug": post.get("slug", "").strip()}
    given |= {"url": post.get("url", "").strip(), "credential": forms.credential(post)}
    if "hosts" in post:
        given["hosts"] = post["hosts"].split()
    body = catalogue.body(given)
    wanted = NewService.read(body)
    source = async_to_sync(sources.of_entry)(name, body, wanted, scope_of(request))
    with within(request):
        return changes.add(request.principal.tenant_id, wanted, source, catalogue.found(name).suggested).slug
