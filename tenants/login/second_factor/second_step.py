"""The second step of a log-in: a code, for who has set a second factor up and has given their password."""

import time
import uuid
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from redis.exceptions import RedisError

from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import SECOND_FACTOR_IN_SESSION, PasswordBackend
from tenants.login.second_factor import factors
from tenants.models import User
from tenants.people.encryption import Undecipherable
from tenants.scope import transactions

BACKEND = "tenants.login.authentication.PasswordBackend"
# Who has given their password, and not yet a code.
PENDING = "second_factor_pending"
# How long after the password the code may come.
PENDING_SECONDS = 300
WRONG = "This code is wrong, or was used before. Codes of the app change every 30 seconds."
UNREADABLE = "Your second factor cannot be read. Ask the operator to remove it: manage.py remove_second_factor."


class CodeForm(forms.Form):
    """A code, with whatever spaces it was typed."""

    code = forms.CharField(max_length=50)


def wait_for_code(request: HttpRequest, user: User, following: str) -> HttpResponse | None:
    """Where somebody goes who has given their password and needs a code; None when they need none."""
    with transactions.of_user(user.pk):
        if factors.of(user) is None:
            return None
    # Nobody is logged in by this, and the hash ends it when the password changes.
    request.session.cycle_key()
    request.session[PENDING] = {
        "user": str(user.pk),
        "until": time.time() + PENDING_SECONDS,
        "hash": user.get_session_auth_hash(),
        "next": following,
    }
    return redirect("second-factor")


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Log in who has given their password, once they give a code; attempts are counted per user and per address."""
    pending = request.session.get(PENDING) or {}
    user = _pending(pending)
    if user is None:
        request.session.pop(PENDING, None)
        return redirect("login")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_bound and (refusal := too_many(request, user)):
        return refusal
    if form.is_valid():
        try:
            with transactions.of_user(user.pk):
                right = factors.spend(user, form.cleaned_data["code"])
        except Undecipherable:
            form.add_error(None, UNREADABLE)
        else:
            if right:
                del request.session[PENDING]
                login(request, user, BACKEND)
                request.session[SECOND_FACTOR_IN_SESSION] = int(time.time())
                return redirect(pending["next"])
            form.add_error(None, WRONG)
    return render(request, "accounts/second_factor.html", {"form": form})


def _pending(pending: dict[str, Any]) -> User | None:
    """The user who is to give a code; None when there is none, or it is too late, or their password has changed."""
    if not pending or pending["until"] < time.time():
        return None
    user = PasswordBackend().get_user(uuid.UUID(pending["user"]))
    return user if user is not None and user.get_session_auth_hash() == pending["hash"] else None


def too_many(request: HttpRequest, user: User) -> HttpResponse | None:
    """The answer to another attempt with a code, after counting it, when it may not be made; else None."""
    try:
        limits = [counted(request, "second-factor", "ip", settings.LOGIN_ATTEMPTS)]
        for rate in settings.SECOND_FACTOR_ATTEMPTS:
            limits.append(counted(request, f"second-factor-{rate}", lambda group, request: str(user.pk), rate))
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    return later(request, 429, max(limits)) if any(limits) else None
