"""My connections: what a user has connected, and the way back from authorization servers."""

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from yarl import URL

from services.connections import flow, listing, revocation
from services.connections.flow import Returned
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, members_only
from tenants.me.frame import section_frame
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope

PAGE = "settings-connections"


def _scope(request: SignedInRequest) -> TenantScope:
    return TenantScope(request.principal.tenant_id, request.principal.user_id)


def _rendered(request: SignedInRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    with transactions.scope(*_scope(request)):
        frame = section_frame(request, "connections")
        return render(request, f"settings/connections/{template}", frame | context, status=status)


@require_safe
@never_cache
@members_only
def connections(request: SignedInRequest) -> HttpResponse:
    """Every service that people connect to, and the viewer's connection."""
    found = async_to_sync(listing.of_user)(_scope(request))
    return _rendered(request, "list.html", {"connections": found})


@require_POST
@members_only
def connect(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the way to the authorization server of a service: a link, since a form may lead to no other host."""
    if not request.session.session_key:
        request.session.save()
    scope = _scope(request)
    try:
        begun = async_to_sync(flow.begin)(scope, slug, request.session.session_key)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect(PAGE)
    host = URL(begun["authorize_url"]).authority
    return _rendered(request, "leave.html", begun | {"slug": slug, "host": host})


@require_POST
@members_only
def disconnect(request: SignedInRequest, slug: str) -> HttpResponse:
    """Forget the viewer's connection."""
    scope = _scope(request)
    try:
        ended = async_to_sync(flow.end)(scope, slug)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect(PAGE)
    if ended:
        async_to_sync(revocation.ask)([scope.tenant_id])
    messages.success(request, f"{slug} is not connected any more.")
    return redirect(PAGE)


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_variables("returned")
@members_only
def callback(request: SignedInRequest) -> HttpResponse:
    """What the browser brings back: connected at once in the session that began it, else once the viewer says so.

    Nothing that came decides where the viewer goes from here.
    """
    scope = _scope(request)
    asked = request.method == "POST"
    returned = Returned.of(request.POST if asked else request.GET)
    if not asked and (question := async_to_sync(flow.confirm)(scope, returned)) is not None:
        return _rendered(request, "confirm.html", {"question": question, "returned": returned})
    try:
        slug = async_to_sync(flow.finish)(scope, returned, None if asked else request.session.session_key)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        messages.success(request, f"{slug} is connected. Its tools are called with your account from now on.")
    return redirect(PAGE)


@require_safe
def client_document(request: HttpRequest) -> HttpResponse:
    """What Toolgate says of itself to authorization servers that take an address as a client's id."""
    answer = JsonResponse(flow.client_document())
    answer["Cache-Control"] = "public, max-age=300"
    return answer


urlpatterns = [
    path("", connections, name=PAGE),
    path("<str:slug>/connect/", connect, name="connect"),
    path("<str:slug>/disconnect/", disconnect, name="disconnect"),
]
outside = [
    path("callback/", callback, name="connections-callback"),
    path("client.json", client_document),
]
