"""`/accounts/passkey/`: a log-in with a passkey, which is both factors at once."""

import time
import uuid

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from redis.exceptions import RedisError

from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import SECOND_FACTOR_IN_SESSION, PasswordBackend
from tenants.login.second_factor import passkeys
from tenants.login.second_factor.second_step import BACKEND
from tenants.models import User
from tenants.scope import transactions

WRONG = "This passkey is not known here, or took too long. Try again, or log in with your password."
NOWHERE = "Passkeys do not work at this address: browsers have them at a name over HTTPS only."


@never_cache
@require_POST
def challenge(request: HttpRequest) -> HttpResponse:
    """What the browser is to sign, as JSON."""
    if not passkeys.possible():
        return JsonResponse({"detail": NOWHERE}, status=409)
    return JsonResponse(passkeys.begin_using(request.session))


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Log in whoever has the passkey that answers; attempts are counted per address and per user."""
    if request.method == "GET":
        following = request.GET.get("next", "")
        return render(
            request, "accounts/passkey.html", {"possible": passkeys.possible(), "nowhere": NOWHERE, "next": following}
        )
    answer = request.POST.get("answer", "")
    user_id = passkeys.whose(answer)
    if refusal := too_many(request, user_id):
        return refusal
    following = request.POST.get("next", "")
    user = PasswordBackend().get_user(user_id) if user_id is not None else None
    if user is None or not _right(request, user, answer):
        context = {"possible": passkeys.possible(), "nowhere": NOWHERE, "wrong": WRONG, "next": following}
        return render(request, "accounts/passkey.html", context, status=403)
    login(request, user, BACKEND)
    request.session[SECOND_FACTOR_IN_SESSION] = int(time.time())
    ours = url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(following if ours else "/")


def _right(request: HttpRequest, user: User, answer: str) -> bool:
    with transactions.of_user(user.pk):
        return passkeys.use(request.session, user, answer)


def too_many(request: HttpRequest, user_id: uuid.UUID | None) -> HttpResponse | None:
    """The answer to another attempt with a passkey, after counting it, when it may not be made; else None."""
    try:
        seconds = max(
            counted(request, "passkey", "ip"),
            counted(request, "passkey", lambda group, request: str(user_id)) if user_id else 0,
        )
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    return later(request, 429, seconds) if seconds else None
