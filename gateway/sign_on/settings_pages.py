"""`/settings/sign-on/`: how the tenant's people log in; for owners."""

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gateway.sign_on import flow, setup
from gateway.sign_on.errors import NoSuchProvider
from gateway.sign_on.pages import leave
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only, signed_in
from tenants.login.meanwhile import BASED_ON
from tenants.me.frame import section_frame
from tenants.models import Role, SignOnProvider, Tenant
from tenants.people import recorded, settings
from tenants.people.changes import revision
from tenants.scope import transactions

PAGE = "settings-sign-on"
_SHOWN = 50
_TEXTS = ("domain", "issuer", "client_id", "client_secret", "role_claim", "default_role")


@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """Whether a second factor is asked for, the providers, and a form for a new one."""
    return _list(request, section_frame(request, "sign-on"))


@sensitive_post_parameters("client_secret")
@never_cache
@require_POST
@signed_in
def add(request: SignedInRequest) -> HttpResponse:
    """A new provider."""
    frame = section_frame(request, "sign-on")
    try:
        row = setup.create(request.principal, _given(request))
    except Refused as refused:
        return _list(request, frame, refused)
    messages.success(request, f"Single sign-on of {row.domain} is set up.")
    return redirect("settings-sign-on-provider", row.pk)


@sensitive_post_parameters("client_secret")
@never_cache
@require_http_methods(["GET", "POST"])
@signed_in
def one(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """A provider, and changing it."""
    frame, row = section_frame(request, "sign-on"), _row(request, id)
    if request.method == "GET":
        return _one(request, frame, row)
    given = _given(request)
    del given["domain"]
    if not given["client_secret"]:
        # An empty field leaves it as it is.
        del given["client_secret"]
    try:
        setup.change(row, given)
    except Refused as refused:
        return _one(request, frame, row, refused)
    messages.success(request, "Saved.")
    return redirect("settings-sign-on-provider", row.pk)


@require_http_methods(["GET", "POST"])
@signed_in
def remove(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Say what comes of it; a POST removes it, and nobody logs in by it any more."""
    frame, row = section_frame(request, "sign-on"), _row(request, id)
    if request.method == "GET":
        context = {"row": row, "found": setup.consequences(row)}
        return render(request, "settings/sign-on/remove.html", frame | context)
    setup.remove(row)
    messages.success(request, f"Nobody logs in by single sign-on of {row.domain} any more.")
    return redirect(PAGE)


@require_POST
@members_only
def look(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Ask the provider what it says of itself."""
    row = _row_without(request, id)
    shown = async_to_sync(setup.test)(row.issuer)
    with transactions.scope(request.principal.tenant_id, request.principal.user_id):
        return _one(request, section_frame(request, "sign-on"), row, shown=shown)


@require_POST
@members_only
def attempt(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Log in there as a test, by which nobody is logged in here."""
    row = _row_without(request, id)
    back = f"/settings/sign-on/{row.pk}/"
    try:
        where = flow.begin(request.session, row, purpose="test", following=back, user=str(request.user.pk))
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect("settings-sign-on-provider", row.pk)
    return leave(request, where)


@require_POST
@signed_in
def second_factor(request: SignedInRequest) -> HttpResponse:
    """Ask the tenant's people for a second factor, or no more."""
    section_frame(request, "sign-on")
    settings.change(request.principal.tenant_id, second_factor_required=request.POST.get("required") == "yes")
    messages.success(request, "Saved.")
    return redirect(PAGE)


def _row(request: SignedInRequest, id: uuid.UUID) -> SignOnProvider:
    try:
        return setup.get(request.principal, id)
    except NoSuchProvider as missing:
        raise Http404 from missing


def _row_without(request: SignedInRequest, id: uuid.UUID) -> SignOnProvider:
    with transactions.scope(request.principal.tenant_id, request.principal.user_id):
        section_frame(request, "sign-on")
        return _row(request, id)


def _given(request: SignedInRequest) -> dict[str, Any]:
    """The form, as the API takes it."""
    given: dict[str, Any] = {name: request.POST.get(name, "") for name in _TEXTS}
    given |= {name: request.POST.get(name) == "on" for name in setup.FLAGS}
    lines = [line.rpartition("=") for line in request.POST.get("roles", "").splitlines() if line.strip()]
    return given | {"roles": [{"value": value.strip(), "role": role.strip()} for value, _, role in lines]}


def _list(request: SignedInRequest, frame: dict[str, Any], refused: Refused | None = None) -> HttpResponse:
    confirmed = setup.confirmed(request.principal)
    page = Paginator(setup.of_tenant(request.principal), _SHOWN).get_page(request.GET.get("page"))
    providers = [(row, row.domain in confirmed) for row in page.object_list]
    tenant = Tenant.objects.get(pk=request.principal.tenant_id)
    context = {"providers": providers, "page_of": page, "required": tenant.second_factor_required}
    context |= _form(request, refused)
    return render(request, "settings/sign-on/list.html", frame | context, status=refused.status if refused else 200)


def _one(
    request: SignedInRequest,
    frame: dict[str, Any],
    row: SignOnProvider,
    refused: Refused | None = None,
    shown: list[tuple[str, bool, str]] | None = None,
) -> HttpResponse:
    context = {"row": row, "shown": shown, "redirect_uri": flow.redirect_uri(), "unconfirmed": setup.UNCONFIRMED}
    context |= {"confirmed": row.domain in setup.confirmed(request.principal)} | _form(request, refused, row)
    context["based_on"] = request.POST.get(BASED_ON) if refused else revision(sign_on=recorded.SIGN_ON.of(row))
    return render(request, "settings/sign-on/one.html", frame | context, status=refused.status if refused else 200)


def _form(request: SignedInRequest, refused: Refused | None, row: SignOnProvider | None = None) -> dict[str, Any]:
    """What the fields hold: what was just sent and refused, else what is stored; never a secret."""
    if refused is not None:
        held: dict[str, Any] = {name: request.POST.get(name, "") for name in (*_TEXTS, "roles")}
        held |= {name: request.POST.get(name) == "on" for name in setup.FLAGS}
    elif row is not None:
        held = {name: getattr(row, name) for name in (*_TEXTS, *setup.FLAGS)}
        held["roles"] = "\n".join(f"{each['value']} = {each['role']}" for each in row.roles)
    else:
        held = {"enabled": True}
    held.pop("client_secret", None)
    return {"held": held, "refused": refused, "role_names": Role.values, "redirect_uri": flow.redirect_uri()}


urlpatterns = [
    path("", index, name=PAGE),
    path("add/", add, name="settings-sign-on-add"),
    path("second-factor/", second_factor, name="settings-sign-on-second-factor"),
    path("<uuid:id>/", one, name="settings-sign-on-provider"),
    path("<uuid:id>/remove/", remove, name="settings-sign-on-remove"),
    path("<uuid:id>/look/", look, name="settings-sign-on-look"),
    path("<uuid:id>/try/", attempt, name="settings-sign-on-try"),
]
