"""Adding a service on a page: paste an address, see what is there, choose, and add it."""

from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from services import changes, snapshots
from services.changes import NewService
from services.descriptors import catalogue
from services.models import Service
from services.reading import discovery, sources
from services.reading.discovery import Found
from services.web import forms
from services.web.requests import owner_section, scope_of, within
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only

# More operations are chosen by their names, in the text field.
MOST_CHOICES = 2000


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def new(request: SignedInRequest) -> HttpResponse:
    """Ask for an address; a POST looks at what is there (`step` is look), or adds it (`step` is add)."""
    post = request.POST
    if request.method != "POST":
        return _page(request, "new.html", {"catalogue": catalogue.entries()})
    owner_section(request)
    try:
        found = _found(post)
    except Refused as refused:
        context = {"refusal": refused, "post": post, "catalogue": catalogue.entries()}
        return _page(request, "new.html", context, refused.status)
    if post.get("step") != "add":
        return _page(request, "found.html", _suggested(request, found))
    try:
        slug = _added(request, found)
    except Refused as refused:
        context = {"found": found, "refusal": refused, "post": post, "chosen": set(post.getlist("operation"))}
        return _page(request, "found.html", context, refused.status)
    messages.success(request, f"{slug} is added. Choose the tools to switch on.")
    return redirect("settings-service", slug)


def _found(post: QueryDict) -> Found:
    """What the form's address, or its text, is; raises Refused."""
    text = post.get("document", "").strip()
    if text:
        found = discovery.of_text(text)
        return found if found.url else replace(found, url=post.get("url", "").strip())
    if post.get("step") == "add" and post.get("kind") == "mcp":
        # There is no document to be read again.
        return Found("mcp", post.get("url", "").strip(), needs_credential=True)
    return async_to_sync(_look)(post.get("address", ""))


async def _look(address: str) -> Found:
    return await discovery.listed(await discovery.look(address))


def _added(request: SignedInRequest, found: Found) -> str:
    post = request.POST
    given: dict[str, Any] = {
        "slug": post.get("slug", "").strip(),
        "kind": found.kind,
        "url": post.get("url", "").strip(),
        "timeout": forms.seconds(post),
        "credential": forms.credential(post),
    }
    if found.kind != "mcp":
        name = "openapi" if found.kind == "openapi" else "descriptor"
        given[name] = found.document or snapshots.parsed(found.text, name)
        typed = [line.strip() for line in post.get("operations", "").splitlines() if line.strip()]
        given["operations"] = list(dict.fromkeys([*post.getlist("operation"), *typed]))
    wanted = NewService.read(given)
    source = async_to_sync(sources.of)(wanted.kind, given, wanted.url, wanted.credential, scope_of(request))
    with within(request):
        return changes.add(request.principal.tenant_id, wanted, source).slug


def _suggested(request: SignedInRequest, found: Found) -> dict[str, Any]:
    """The form with what was found in it, and a slug that is free."""
    with within(request):
        taken = set(Service.objects.filter(slug__startswith=found.slug).values_list("slug", flat=True))
    free = next(slug for number in range(1, len(taken) + 3) if (slug := _numbered(found.slug, number)) not in taken)
    post = QueryDict(mutable=True)
    for name in ("address", "document"):
        post[name] = request.POST.get(name, "").strip()
    post.update({"slug": free, "url": found.url, "timeout": f"{changes.DEFAULT_TIMEOUT:g}", "credential": "none"})
    return {"found": found, "post": post, "chosen": set()}


def _numbered(slug: str, number: int) -> str:
    return slug if number == 1 or not slug else f"{slug}-{number}"


def _page(request: SignedInRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    found = context.get("found")
    if found is not None:
        context |= {"kind": forms.KIND_WORDS[found.kind], "too_many": len(found.choices) > MOST_CHOICES}
        context |= {"credentials": forms.CREDENTIALS}
    with within(request):
        context = owner_section(request) | context
        return render(request, f"settings/services/{template}", context, status=status)
