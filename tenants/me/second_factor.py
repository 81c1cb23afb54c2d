"""`/settings/second-factor/`: setting the authenticator app up, recovery codes, switching it off."""

import base64
import time
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.hashers import check_password
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from tenants.login import authentication, reauthentication
from tenants.login.access import SignedInRequest, oneself
from tenants.login.authentication import SECOND_FACTOR_IN_SESSION
from tenants.login.second_factor import factors
from tenants.login.second_factor.second_step import UNREADABLE, WRONG, CodeForm, too_many
from tenants.me.frame import section_frame
from tenants.models import User
from tenants.people import encryption
from tenants.people.encryption import Undecipherable

# The secret of an app that is being set up.
SECRET = "second_factor_secret"


class _ProvenForm(CodeForm):
    """What changes the second factor wants the password too, of those who have one."""

    password = forms.CharField(required=False, max_length=4096, strip=False)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
@oneself
def index(request: SignedInRequest) -> HttpResponse:
    """Set the app up; or what is set up, and ways to change it."""
    user: Any = request.user
    if factors.of(user) is not None:
        return _page(request, CodeForm())
    if request.method == "GET":
        request.session[SECRET] = encryption.encrypt(factors.new_secret())
        return _page(request, _ProvenForm())
    if refusal := too_many(request, user):
        return refusal
    form, secret = _ProvenForm(request.POST), _secret(request)
    if secret is None:
        return redirect("settings-second-factor")
    if form.is_valid() and _right_password(request, form, user):
        codes = factors.enable(user, secret, form.cleaned_data["code"])
        if codes is not None:
            del request.session[SECRET]
            request.session[SECOND_FACTOR_IN_SESSION] = int(time.time())
            return _page(request, CodeForm(), codes=codes)
        form.add_error("code", "This code is wrong. Scan the picture again, or check the clock of your phone.")
    return _page(request, form, status=400)


@sensitive_post_parameters()
@never_cache
@require_POST
@oneself
def change(request: SignedInRequest, what: str) -> HttpResponse:
    """For who gives password and code: new recovery codes ("codes"), no second factor any more ("off"), or this session
    as one that has given a code ("session").
    """
    user: Any = request.user
    if factors.of(user) is None:
        return redirect("settings-second-factor")
    if refusal := too_many(request, user):
        return refusal
    form = _ProvenForm(request.POST)
    if not form.is_valid() or not _right_password(request, form, user) or not _spent(form, user):
        return _page(request, form, status=400, what=what)
    request.session[SECOND_FACTOR_IN_SESSION] = int(time.time())
    if what == "codes":
        return _page(request, CodeForm(), codes=factors.new_recovery_codes(user))
    if what == "session":
        return redirect("chat")
    factors.disable(user)
    del request.session[SECOND_FACTOR_IN_SESSION]
    messages.success(request, "The second factor is off. Your password alone logs you in.")
    return redirect("settings-second-factor")


def _secret(request: SignedInRequest) -> str | None:
    """The secret that the session's page showed last; None when there is none, or it cannot be read any more."""
    try:
        return encryption.decrypt(request.session.get(SECRET, ""))
    except Undecipherable:
        return None


def _right_password(request: SignedInRequest, form: forms.Form, user: User) -> bool:
    if not user.has_usable_password():
        # Whoever logs in by single sign-on alone has proved it there. Raises ReauthenticationRequired.
        reauthentication.demand(request, request.principal)
        return True
    right = check_password(form.cleaned_data["password"], user.password)
    if not right:
        form.add_error("password", "This is not your password.")
    return right


def _spent(form: forms.Form, user: User) -> bool:
    try:
        right, words = factors.spend(user, form.cleaned_data["code"]), WRONG
    except Undecipherable:
        right, words = False, UNREADABLE
    if not right:
        form.add_error("code", words)
    return right


def _page(request: SignedInRequest, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
    user: Any = request.user
    app = factors.of(user)
    # Who is in no tenant has no frame of settings around it.
    inside = request.principal is not None
    context = section_frame(request, "second-factor") if inside else {}
    context |= {"form": form, "app": app, "frame": "settings/base.html" if inside else "accounts/alone.html"}
    context |= {"proven": authentication.has_second_factor(request)} | more
    if app is not None:
        try:
            context["left"] = factors.recovery_codes_left(user)
        except Undecipherable:
            context["unreadable"] = UNREADABLE
    elif (secret := _secret(request)) is not None:
        svg = base64.b64encode(factors.picture(user, secret).encode()).decode()
        context |= {"secret": secret, "picture": f"data:image/svg+xml;base64,{svg}"}
    return render(request, "settings/second_factor.html", context, status=status)


urlpatterns = [
    path("", index, name="settings-second-factor"),
    path("codes/", change, {"what": "codes"}, name="settings-recovery-codes"),
    path("session/", change, {"what": "session"}, name="settings-second-factor-session"),
    path("off/", change, {"what": "off"}, name="settings-second-factor-off"),
]
