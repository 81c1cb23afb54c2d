"""`/accounts/single-sign-on/`: to a provider, and back."""

import hashlib
import time
import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from redis.exceptions import RedisError
from yarl import URL

from gateway.sign_on import flow, setup
from gateway.sign_on.errors import InvalidProvider, SignOnRefused
from gateway.sign_on.flow import Identified
from tenants.errors import Refused
from tenants.login import authentication, reauthentication, sign_on
from tenants.login.access import SignedInRequest, members_only
from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import PasswordBackend
from tenants.login.second_factor.second_step import BACKEND
from tenants.models import SignOnIdentity
from tenants.scope import transactions

PROVIDER_IN_SESSION = "single_sign_on_provider"
# After so long the provider is asked again, which may not know the person any more.
SESSION_SECONDS = 12 * 3600
NOWHERE = "There is no single sign-on for this address. Log in with your password, or ask an owner of your tenant."
_WORDS = {
    "ended": "Single sign-on of {domain} is not in use any more. Ask an owner of your tenant.",
    "operator": "Operators of this Toolgate log in with their password.",
    "inactive": "Your account is switched off. The operator of this Toolgate can switch it on.",
    "removed": "You are no member of this tenant any more. An owner of the tenant can invite you.",
    "stranger": "Your provider knows you, and you are no member of this tenant. An owner of the tenant can invite you.",
    "no_address": "Your provider confirms no e-mail address of {domain} for you, so no account is made. "
    "An owner of the tenant can invite you, or look at the settings for single sign-on.",
    "account": "This tenant has an account with your address. Log in with its password, then connect single sign-on at "
    "Settings, Password. Who has forgotten it asks for a new one, or an owner of the tenant.",
    "no_role": "Your provider gives you no role in this tenant. An owner of the tenant says which groups have one.",
}


class _AddressForm(forms.Form):
    email = forms.EmailField(max_length=254)
    next = forms.CharField(required=False, max_length=2000)


@never_cache
@require_http_methods(["GET", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Ask for an address, and show the way to the provider of its domain."""
    form = _AddressForm(
        request.POST if request.method == "POST" else None, initial={"next": request.GET.get("next", "")}
    )
    if not form.is_valid():
        return _asked(request, form, 400 if form.is_bound else 200)
    address = form.cleaned_data["email"]
    if refusal := _too_many(request, "single-sign-on", address.lower()):
        return refusal
    try:
        found = sign_on.find(setup.domain(address.rpartition("@")[2]))
    except InvalidProvider:
        found = None
    provider = sign_on.provider(*found) if found is not None else None
    if provider is None:
        form.add_error("email", NOWHERE)
        return _asked(request, form, 404)
    following = _ours(request, form.cleaned_data["next"])
    try:
        where = flow.begin(request.session, provider, purpose="log-in", following=following, hint=address)
    except Refused as refused:
        return _error(request, refused)
    return leave(request, where)


@require_POST
@members_only
def connect(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """To a provider of the tenant, to be known there from now on."""
    reauthentication.demand(request, request.principal)
    provider = sign_on.provider(request.principal.tenant_id, id)
    if provider is None:
        raise Http404
    try:
        where = flow.begin(
            request.session, provider, purpose="connect", following="/settings/password/", user=str(request.user.pk)
        )
    except Refused as refused:
        return _error(request, refused)
    return leave(request, where)


@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """To the provider that logged the session in, to prove again who it is."""
    tenant, found = (request.session.get(each) for each in (authentication.SIGN_ON_IN_SESSION, PROVIDER_IN_SESSION))
    provider = sign_on.provider(uuid.UUID(tenant), uuid.UUID(found)) if tenant and found else None
    if provider is None or not request.user.is_authenticated:
        raise Http404
    following = _ours(request, request.POST.get("next", ""), "/settings/")
    try:
        where = flow.begin(request.session, provider, purpose="confirm", following=following, user=str(request.user.pk))
    except Refused as refused:
        return _error(request, refused)
    return leave(request, where)


@require_safe
@never_cache
@sensitive_variables("found")
def callback(request: HttpRequest) -> HttpResponse:
    """What the browser brings back from the provider."""
    state = hashlib.sha256(request.GET.get("state", "").encode()).hexdigest()
    try:
        # A second use of a state, also at the same moment, is none that the session would notice.
        again = counted(request, "single-sign-on-state", lambda group, request: state, "1/h")
        seconds = counted(request, "single-sign-on-callback", "ip")
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    if seconds:
        return later(request, 429, seconds)
    try:
        if again:
            raise SignOnRefused(f"This log-in was used already. {flow.AGAIN}")
        found = flow.finish(request.session, request.GET, str(request.user.pk) if request.user.is_authenticated else "")
        answer: HttpResponse = _PURPOSES[found.begun.purpose](request, found)
        return answer
    except Refused as refused:
        return _error(request, refused)


def _log_in(request: HttpRequest, found: Identified) -> HttpResponse:
    admitted = sign_on.admit(found.provider, found.person, found.role)
    if admitted.outcome not in ("in", "joined") or admitted.user_id is None:
        raise SignOnRefused(_WORDS[admitted.outcome].format(domain=found.provider.domain))
    user = PasswordBackend().get_user(admitted.user_id)
    if user is None:
        raise SignOnRefused(_WORDS["inactive"])
    # Nothing of whoever used this browser before.
    request.session.flush()
    login(request, user, BACKEND)
    session, tenant = request.session, str(found.provider.tenant_id)
    session[authentication.SIGN_ON_IN_SESSION] = session[authentication.TENANT_IN_SESSION] = tenant
    session[PROVIDER_IN_SESSION] = str(found.provider.pk)
    session.set_expiry(SESSION_SECONDS)
    if found.second_factor:
        session[authentication.SECOND_FACTOR_IN_SESSION] = int(time.time())
    # The provider may have asked for the password long ago.
    at = found.claims.get("auth_time")
    session[reauthentication.AUTHENTICATED_AT] = int(at) if isinstance(at, int | float) else 0
    return HttpResponseRedirect(found.begun.following)


def _connect(request: HttpRequest, found: Identified) -> HttpResponse:
    me = _me(request)
    with transactions.scope(found.provider.tenant_id, me):
        done = sign_on.connect(found.provider.tenant_id, me, found.person)
    if not done:
        raise SignOnRefused("This account of your provider is another member's here. An owner of the tenant can help.")
    messages.success(request, f"You may log in by single sign-on of {found.provider.domain} from now on.")
    return HttpResponseRedirect(found.begun.following)


def _confirm(request: HttpRequest, found: Identified) -> HttpResponse:
    person, tenant, me = found.person, found.provider.tenant_id, _me(request)
    with transactions.scope(tenant, me):
        same = SignOnIdentity.objects.filter(
            tenant_id=tenant, issuer=person.issuer, subject=person.subject, user_id=me
        ).exists()
    if not same:
        raise SignOnRefused("That was another account than the one that is logged in here. Nothing was confirmed.")
    request.session.cycle_key()
    reauthentication.proven(request)
    return HttpResponseRedirect(found.begun.following)


def _me(request: HttpRequest) -> uuid.UUID:
    """Who is logged in, which `flow.finish` has compared with who began it."""
    return uuid.UUID(str(request.user.pk))


def _test(request: HttpRequest, found: Identified) -> HttpResponse:
    shown = {"domain": found.provider.domain, "person": found.person, "role": found.role, "mfa": found.second_factor}
    return render(request, "accounts/single_sign_on_test.html", shown | {"back": found.begun.following})


_PURPOSES: dict[str, Any] = {"log-in": _log_in, "connect": _connect, "confirm": _confirm, "test": _test}


def leave(request: HttpRequest, where: str) -> HttpResponse:
    """A page that goes on to the provider by itself: a form may lead to no other host, and this is its answer."""
    context = {"where": where, "host": URL(where).authority}
    return render(request, "accounts/single_sign_on_leave.html", context)


def _asked(request: HttpRequest, form: forms.Form, status: int) -> HttpResponse:
    return render(request, "accounts/single_sign_on.html", {"form": form}, status=status)


def _error(request: HttpRequest, refused: Refused) -> HttpResponse:
    response = render(request, "accounts/single_sign_on_error.html", {"detail": refused.detail}, status=refused.status)
    # Django would log the request with its query, which has the code.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def _too_many(request: HttpRequest, group: str, name: str) -> HttpResponse | None:
    try:
        seconds = max(counted(request, group, "ip"), counted(request, group, lambda group, request: name))
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    return later(request, 429, seconds) if seconds else None


def _ours(request: HttpRequest, following: str, otherwise: str = "/") -> str:
    ours = url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure())
    return following if ours else otherwise


urlpatterns = [
    path("", start, name="single-sign-on"),
    path("callback/", callback, name="single-sign-on-callback"),
    path("confirm/", confirm, name="single-sign-on-confirm"),
    path("<uuid:id>/connect/", connect, name="single-sign-on-connect"),
]
