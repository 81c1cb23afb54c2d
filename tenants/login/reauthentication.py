"""Asking again who one is, before something that raises rights: with the password, or a code of the second factor.

A view says that it needs this with `demand`. What happens then is not its business: a page is answered with a form that
holds what was sent, and goes on with it once the answer is right; REST is answered with 403.
"""

import json
import time
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from redis.exceptions import RedisError

from tenants.errors import Refused
from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import SECOND_FACTOR_IN_SESSION, SIGN_ON_IN_SESSION, TENANT_IN_SESSION
from tenants.login.second_factor import factors
from tenants.login.second_factor.second_step import UNREADABLE, WRONG, too_many
from tenants.models import User
from tenants.people import encryption
from tenants.people.encryption import Undecipherable
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions

# When the session's user proved last who they are.
AUTHENTICATED_AT = "authenticated_at"
# The field of the form that says what was asked for, encrypted: it may hold secrets.
FORM = "reauthentication_form"
# A form that is longer is not held: it has to be sent again.
LONGEST_FORM = 1024 * 1024
WRONG_PASSWORD = "This is not your password."


class ReauthenticationRequired(Refused):
    """The session's user has not proved for some time who they are."""

    status = 403
    code = "reauthentication_required"

    def __init__(self) -> None:
        super().__init__(
            f"This needs your password or a code of your second factor again: you gave neither in the last "
            f"{settings.REAUTHENTICATION_SECONDS // 60} minutes. Confirm that it is you at "
            f"{settings.PUBLIC_URL}{reverse('confirm')}, then send this again; or use a key with the scope admin."
        )


class ProofForm(forms.Form):
    """One of the two is enough."""

    reauthentication_password = forms.CharField(required=False, max_length=4096, strip=False)
    reauthentication_code = forms.CharField(required=False, max_length=50)


def proven(request: HttpRequest) -> None:
    """Note that the session's user has just proved who they are."""
    request.session[AUTHENTICATED_AT] = int(time.time())


def on_log_in(sender: Any, request: HttpRequest, **more: Any) -> None:
    """A log-in proves it."""
    proven(request)


def is_recent(request: HttpRequest) -> bool:
    """Whether the session's user has proved it lately."""
    at = request.session.get(AUTHENTICATED_AT)
    return isinstance(at, int) and 0 <= time.time() - at <= settings.REAUTHENTICATION_SECONDS


def is_confirmed(request: Any, principal: Principal | None) -> bool:
    """Whether the request may raise rights: a key that has the scope `admin`, or a session that was confirmed lately.

    `request` is a page's or REST framework's.
    """
    if principal is not None and principal.key_id is not None:
        return "admin" in principal.scopes
    return is_recent(request)


def demand(request: Any, principal: Principal | None) -> None:
    """Go on only with a request that `is_confirmed`; raises ReauthenticationRequired, which pages and REST answer.

    Changes of settings demand it themselves (`tenants.people.changes.Kind.raises`). This is for what is no setting, and
    for what asks a network before it changes anything.
    """
    if not is_confirmed(request, principal):
        raise ReauthenticationRequired


def demand_for_key(request: Any, principal: Principal, scopes: list[str] | None) -> None:
    """`demand`, where a key with these scopes could change the tenant's settings."""
    if "admin" in scopes_of(principal.role, scopes):
        demand(request, principal)


def ask(request: HttpRequest, form: ProofForm | None = None, *, held: str = "") -> HttpResponse:
    """The form that asks, in the place of the page that was asked for."""
    if request.headers.get("HX-Request"):
        # A fragment of a page has no room for a form: the whole page is left.
        response = HttpResponse(status=204)
        response["HX-Redirect"] = reverse("confirm")
        return response
    user: Any = request.user
    with transactions.of_user(user.pk):
        code = factors.of(user) is not None
    context = {"form": form or ProofForm(), "field": FORM, "held": held or _hold(request), "code": code}
    context |= {"password": user.has_usable_password(), "sign_on": SIGN_ON_IN_SESSION in request.session}
    response = render(request, "accounts/confirm.html", context, status=403)
    response["Cache-Control"] = "no-store"
    return response


def answered(request: HttpRequest) -> HttpResponse | None:
    """Take an answer to `ask`, if this is one: what a wrong one gets; None when the page is to go on, with what was
    sent to it in the first place.
    """
    if request.method != "POST" or FORM not in request.POST:
        return None
    held = request.POST[FORM]
    try:
        seconds = max(
            counted(request, "reauthentication", "ip"),
            counted(request, "reauthentication", lambda group, request: str(request.user.pk)),
        )
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    if seconds:
        return later(request, 429, seconds)
    form = ProofForm(request.POST)
    if (
        form.is_valid()
        and form.cleaned_data["reauthentication_code"]
        and (refusal := too_many(request, _user(request)))
    ):
        return refusal
    if not form.is_valid() or not _right(request, form):
        return ask(request, form, held=held)
    request.session.cycle_key()
    proven(request)
    sent = _sent(request, held)
    if sent is None:
        return redirect(request.path)
    if sent["method"] != "POST":
        return redirect(sent["path"])
    request.POST = QueryDict(sent["body"])  # type: ignore[misc]
    return None


def _user(request: HttpRequest) -> User:
    user: Any = request.user
    return user  # type: ignore[no-any-return]


def _right(request: HttpRequest, form: ProofForm) -> bool:
    user, given = _user(request), form.cleaned_data
    if given["reauthentication_code"]:
        try:
            with transactions.of_user(user.pk):
                right, words = factors.spend(user, given["reauthentication_code"]), WRONG
        except Undecipherable:
            right, words = False, UNREADABLE
        if right:
            request.session[SECOND_FACTOR_IN_SESSION] = int(time.time())
        else:
            form.add_error("reauthentication_code", words)
        return right
    right = check_password(given["reauthentication_password"], user.password)
    if not right:
        form.add_error("reauthentication_password", WRONG_PASSWORD)
    return right


def _hold(request: HttpRequest) -> str:
    """What was asked for, for later."""
    fields = request.POST.copy()
    fields.pop("csrfmiddlewaretoken", None)
    body = fields.urlencode()
    method = request.method if len(body) <= LONGEST_FORM else "GET"
    until = time.time() + settings.REAUTHENTICATION_SECONDS
    held = _whose(request) | {"until": until, "method": method, "body": body if method == "POST" else ""}
    return encryption.encrypt(json.dumps(held))


def _whose(request: HttpRequest) -> dict[str, Any]:
    """What must be the same when it is answered."""
    tenant = request.session.get(TENANT_IN_SESSION)
    return {"user": str(request.user.pk), "tenant": tenant, "path": request.get_full_path()}


def _sent(request: HttpRequest, held: str) -> dict[str, Any] | None:
    """What was asked for first; None when this is not what `_hold` made here for this user, or it is too late."""
    try:
        sent: dict[str, Any] = json.loads(encryption.decrypt(held))
    except (Undecipherable, ValueError):
        return None
    return sent if sent.items() >= _whose(request).items() and sent["until"] >= time.time() else None
