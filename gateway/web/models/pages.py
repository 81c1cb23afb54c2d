"""Providers and models as pages, which do what REST does, through the same functions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from gateway.providers.routing import listing, resolution
from gateway.providers.routing.errors import NoSuchProvider
from gateway.providers.routing.settings import changes, rules, testing, wanted
from gateway.runs import loop
from gateway.web.models import forms
from tenants.errors import Refused
from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, members_only
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.me.frame import section_frame
from tenants.scope import transactions

SECTION = "models"


@contextmanager
def _within(request: SignedInRequest) -> Iterator[None]:
    with transactions.scope(request.principal.tenant_id, request.principal.user_id):
        yield


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def models(request: SignedInRequest) -> HttpResponse:
    """The providers, and what is said of models; a POST says it anew."""
    tenant_id = request.principal.tenant_id
    refusal: Refused | None = None
    given: dict[str, Any] | None = None
    if request.method == "POST":
        given = forms.rules(request.POST)
        try:
            with _within(request):
                section_frame(request, SECTION)
                rules.change(tenant_id, given)
            messages.success(request, "The models are changed. Runs go by it from their next turn on.")
            return redirect("settings-models")
        except Refused as error:
            refusal = error
    with _within(request):
        context = section_frame(request, SECTION)
        given = given or rules.shown(rules.found(tenant_id))
        context |= {"refusal": refusal, "form": forms.rows(given), "providers": list(changes.all_of(tenant_id))}
        context |= listing.offered(resolution.read_now(tenant_id), loop.providers()) | {"kinds": forms.KIND_WORDS}
        return render(request, "settings/models/list.html", context, status=refusal.status if refusal else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def new(request: SignedInRequest) -> HttpResponse:
    """A provider that is not there yet."""
    with _within(request):
        context = section_frame(request, SECTION)
    if request.method != "POST":
        return _form(request, context, {"kind": "openai", "enabled": True})
    reauthentication.demand(request, request.principal)
    try:
        given = forms.provider(request.POST) | {"slug": request.POST.get("slug", "").strip()}
        wished = wanted.new(given, own=True)
        tested = async_to_sync(testing.demand)(wished)
        with _within(request):
            changes.create(request.principal.tenant_id, wished, tested)
    except ReauthenticationRequired:
        raise
    except Refused as refusal:
        return _form(request, context, request.POST.dict(), refusal)
    _say(request, f"{wished.slug} is added.", tested)
    return redirect("settings-models")


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def provider(request: SignedInRequest, slug: str) -> HttpResponse:
    """One provider; a POST changes it. Its key is only ever written."""
    with _within(request):
        context = section_frame(request, SECTION)
        row = _found_or_404(request, slug)
    context |= {"provider": row}
    if request.method != "POST":
        return _form(request, context, forms.provider_fields(row))
    reauthentication.demand(request, request.principal)
    try:
        wished = wanted.changed(row, forms.provider(request.POST))
        tested = async_to_sync(testing.demand)(wished)
        with _within(request):
            changes.change(request.principal.tenant_id, row.version, wished, tested)
    except NoSuchProvider:
        raise Http404 from None
    except Refused as refusal:
        return _form(request, context, request.POST.dict() | {"slug": slug}, refusal)
    _say(request, f"{slug} is changed.", tested)
    return redirect("settings-models")


@require_POST
@members_only
def test(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask the provider once for its models, and say what came of it."""
    with _within(request):
        section_frame(request, SECTION)
        present = wanted.changed(_found_or_404(request, slug), {})
    tested = async_to_sync(testing.test)(present)
    with _within(request):
        changes.note(request.principal.tenant_id, slug, tested)
    _say(request, f"Test of {slug}:", tested)
    return redirect("settings-models")


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def remove(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask whether a provider is to be removed; a POST removes it."""
    with _within(request):
        context = section_frame(request, SECTION) | {"provider": _found_or_404(request, slug)}
        if request.method != "POST":
            return render(request, "settings/models/remove.html", context)
        changes.remove(request.principal.tenant_id, slug)
    messages.success(request, f"{slug} is removed, and its key with it.")
    return redirect("settings-models")


def _form(
    request: SignedInRequest, context: dict[str, Any], fields: dict[str, Any], refusal: Refused | None = None
) -> HttpResponse:
    context = context | {"fields": fields, "refusal": refusal, "kinds": forms.KIND_WORDS}
    with _within(request):
        return render(request, "settings/models/provider.html", context, status=refusal.status if refusal else 200)


def _found_or_404(request: SignedInRequest, slug: str) -> Any:
    try:
        return changes.found(request.principal.tenant_id, slug)
    except NoSuchProvider:
        raise Http404 from None


def _say(request: SignedInRequest, done: str, tested: testing.Tested) -> None:
    words = f"{done} {tested.detail} ({tested.ms} ms)"
    messages.add_message(request, messages.SUCCESS, words, extra_tags="" if tested.ok else "wait")
