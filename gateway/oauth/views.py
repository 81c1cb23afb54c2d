"""The authorization server's endpoints: its metadata, the page that asks a member, tokens, revocation, registration."""

from typing import Any
from urllib.parse import urlsplit

import orjson
from django import forms
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_ratelimit.core import get_usage
from oauthlib.common import add_params_to_uri
from oauthlib.oauth2.rfc6749.errors import FatalClientError, OAuth2Error
from redis.exceptions import RedisError

from gateway.http import bodies
from gateway.oauth import clients, redirects
from gateway.oauth.clients import ClientRefused
from gateway.oauth.server import SCOPES, Server, form, query
from tenants.login import access, authentication
from tenants.people.principal import Principal, scopes_of

MAX_REGISTRATION = 16 * 1024
WELL_KNOWN = ".well-known/oauth-authorization-server"


@require_GET
def metadata(request: HttpRequest, path: str = "") -> HttpResponse:
    """What the server does, as RFC 8414 has it; `path` is that of the issuer, if it has one."""
    if path != urlsplit(settings.PUBLIC_URL).path:
        raise Http404
    issuer = settings.PUBLIC_URL
    content = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "revocation_endpoint": f"{issuer}/oauth/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": sorted(SCOPES),
        "protected_resources": [settings.OAUTH_RESOURCE],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
        "service_documentation": f"{issuer}/api/docs/",
    }
    if settings.TOOLGATE_OAUTH_REGISTRATION:
        content["registration_endpoint"] = f"{issuer}/oauth/register"
    return JsonResponse(content)


class _Answer(forms.Form):
    """What the member chose."""

    answer = forms.ChoiceField(choices=[("allow", "allow"), ("deny", "deny")])
    tenant = forms.UUIDField()


@never_cache
@require_http_methods(["GET", "POST"])
def authorize(request: HttpRequest) -> HttpResponse:
    """Ask the member whether the client may act for them, and send their answer to the client.

    What concerns the client's own address is told to the member; every other error to the client.
    """
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    members = _members(request)
    if not members and access.memberships(request):
        # All of them ask for a second factor.
        return redirect("settings-second-factor")
    if not members:
        raise PermissionDenied("You are not a member of any tenant yet. An owner of a tenant can invite you.")
    server, asked = Server(), query(request)
    try:
        client = clients.of_request(request.GET.get("client_id", ""))
        scopes, info = server.validate_authorization_request(*asked)
    except ClientRefused as refused:
        return _page_error(request, str(refused))
    except (FatalClientError, ValueError) as error:
        return _page_error(request, getattr(error, "description", "") or "The client's request cannot be read.")
    except OAuth2Error as error:
        return _sent(error.in_uri(error.redirect_uri))
    back, state = info["redirect_uri"], {"state": info["state"]} if info["state"] else {}
    if not _for_us(request.GET.getlist("resource")):
        words = f"Tokens are issued for {settings.OAUTH_RESOURCE} only."
        return _sent(_with(back, error="invalid_target", error_description=words, **state))
    answer = _Answer(request.POST if request.method == "POST" else None)
    chosen = None
    if answer.is_valid():
        if answer.cleaned_data["answer"] == "deny":
            return _sent(_with(back, error="access_denied", **state))
        chosen = next((each for each, _ in members if each.tenant_id == answer.cleaned_data["tenant"]), None)
    if chosen is None:
        return _asked(request, client, members, back, scopes)
    headers, _, _ = server.create_authorization_response(*asked, scopes=scopes, credentials={"principal": chosen})
    return _sent(headers["Location"])


def _members(request: HttpRequest) -> list[tuple[Principal, str]]:
    """The user as a member of each of their tenants, that of the session first, and the tenants' names."""
    current = authentication.by_session(request, second_factor=False)
    found = [
        (Principal(tenant_id, slug, current.user_id, current.username, role, scopes_of(role)), name)
        for tenant_id, slug, name, role in authentication.open_to(request)
        if current is not None
    ]
    return sorted(found, key=lambda each: current is not None and each[0].tenant_id != current.tenant_id)


def _asked(
    request: HttpRequest, client: Any, members: list[tuple[Principal, str]], back: str, scopes: list[str]
) -> HttpResponse:
    context = {
        "client": client,
        "voucher": clients.vouched_for_by(client),
        "destination": redirects.destination(back),
        "members": members,
        "allowed": [words for name, words in SCOPES.items() if name in scopes],
    }
    response = render(request, "oauth/consent.html", context, status=400 if request.method == "POST" else 200)
    # Browsers apply it to where the answer to the form leads, too.
    response._csp_update = {"form-action": [redirects.source(back)]}  # type: ignore[attr-defined]
    return response


def _for_us(resources: list[str]) -> bool:
    """Whether the resources of a request are this server's `/mcp`; a client of before RFC 8707 names none."""
    return all(each.removesuffix("/") == settings.OAUTH_RESOURCE for each in resources)


def _with(uri: str, **parameters: str) -> str:
    return str(add_params_to_uri(uri, list(parameters.items())))


def _sent(uri: str) -> HttpResponse:
    """A redirect to the client; Django's own refuses the schemes of programs."""
    response = HttpResponse(status=302)
    response["Location"] = _with(uri, iss=settings.PUBLIC_URL)
    response["Referrer-Policy"] = "no-referrer"
    return response


def _page_error(request: HttpRequest, words: str) -> HttpResponse:
    return render(request, "oauth/error.html", {"words": words}, status=400)


def _error(status: int, error: str, words: str, **headers: str) -> HttpResponse:
    """An error as RFC 6749 has it."""
    return JsonResponse(
        {"error": error, "error_description": words}, status=status, headers={"Cache-Control": "no-store", **headers}
    )


def _senseless(request: HttpRequest) -> HttpResponse | None:
    """The answer to a form that says something twice, or elsewhere, or with a NUL, which no text in PostgreSQL has."""
    if request.GET:
        return _error(
            400, "invalid_request", "Parameters belong into the form, not into the address, which gets logged."
        )
    for name, values in request.POST.lists():
        if any("\x00" in text for text in (name, *values)):
            return _error(400, "invalid_request", "The form holds a NUL.")
        if len(values) > 1 and name != "resource":
            return _error(400, "invalid_request", f"The form says {name[:50]} twice.")
    return None


@csrf_exempt
@require_POST
def token(request: HttpRequest) -> HttpResponse:
    """Tokens for a code or a refresh token."""
    if senseless := _senseless(request):
        return senseless
    if not _for_us(request.POST.getlist("resource")):
        return _error(400, "invalid_target", f"Tokens are issued for {settings.OAUTH_RESOURCE} only.")
    server = Server()
    with transaction.atomic():
        headers, body, status = server.create_token_response(*form(request))
        if status != 200 and request.POST.get("grant_type") == "refresh_token" and server.validator.spent:
            # Another part of the request is wrong: the refresh token is still good.
            transaction.set_rollback(True)
    return HttpResponse(body, status=status, headers={"Content-Type": "application/json"} | headers)


@csrf_exempt
@require_POST
def revoke(request: HttpRequest) -> HttpResponse:
    """End the grant of a token; 200 also for a token that is none."""
    if senseless := _senseless(request):
        return senseless
    headers, body, status = Server().create_revocation_response(*form(request))
    return HttpResponse(body or "", status=status, headers={"Content-Type": "application/json"} | headers)


@csrf_exempt
@require_POST
def register(request: HttpRequest) -> HttpResponse:
    """Register a client, as RFC 7591 has it, where the operator allows that."""
    if not settings.TOOLGATE_OAUTH_REGISTRATION:
        words = (
            "Clients cannot register themselves here. The operator can allow it (TOOLGATE_OAUTH_REGISTRATION), or make "
            "one with `manage.py create_oauth_client`."
        )
        return _error(403, "access_denied", words)
    try:
        usage = get_usage(request, group="oauth-register", key="ip", rate=settings.OAUTH_REGISTRATIONS, increment=True)
    except (RedisError, OSError):
        return _error(
            503, "temporarily_unavailable", "Registrations cannot be counted right now.", **{"Retry-After": "10"}
        )
    if usage is None or usage["should_limit"]:
        wait = str(max(usage["time_left"], 1) if usage else 10)
        return _error(
            429, "temporarily_unavailable", "Too many registrations from this address.", **{"Retry-After": wait}
        )
    try:
        if len(request.body) > MAX_REGISTRATION:
            raise ClientRefused(f"The metadata may have up to {MAX_REGISTRATION:,} bytes.")
        given = bodies.json(request.body)
        if not isinstance(given, dict):
            raise ClientRefused("The metadata must be a JSON object.")
        client = clients.register(given, source="registration")
    except (ClientRefused, bodies.NotJSON) as refused:
        return _error(400, "invalid_client_metadata", str(refused))
    content = {
        "client_id": client.id,
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.get_redirect_uris(),
        "grant_types": client.get_grant_types(),
        "response_types": client.get_response_types(),
        "token_endpoint_auth_method": "none",
        "scope": " ".join(SCOPES),
    }
    return HttpResponse(
        orjson.dumps(content), status=201, content_type="application/json", headers={"Cache-Control": "no-store"}
    )
