"""`/accounts/invitation/`: accept an invitation, with a new account or the one that is logged in."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe
from redis.exceptions import RedisError

from tenants.errors import Refused
from tenants.login.attempts import SECONDS_WITHOUT_COUNT, counted, later
from tenants.login.authentication import TENANT_IN_SESSION, PasswordBackend
from tenants.login.second_factor.second_step import BACKEND
from tenants.members import invitations
from tenants.members.errors import AccountExists, InvitationEnded
from tenants.members.invitations import LONGEST_TOKEN, Offer
from tenants.people import encryption
from tenants.people.accounts import AccountRefused
from tenants.people.encryption import Undecipherable

# The link's token, encrypted.
TOKEN = "invitation"


class AccountForm(forms.Form):
    """A new account."""

    username = forms.CharField(max_length=150)
    password = forms.CharField(max_length=4096, strip=False)
    again = forms.CharField(max_length=4096, strip=False)

    def clean(self) -> dict[str, Any]:
        """The same password twice."""
        given = super().clean() or {}
        if given.get("password") and given.get("again") and given["password"] != given["again"]:
            self.add_error("again", "The two passwords differ.")
        return given


@never_cache
@require_safe
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address, which logs and histories keep."""
    if len(token) <= LONGEST_TOKEN:
        request.session[TOKEN] = encryption.encrypt(token)
    return redirect("join")


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Show what the link offers, and accept it."""
    try:
        token = encryption.decrypt(request.session.get(TOKEN, ""))
        offer = invitations.look(token)
    except (Undecipherable, InvitationEnded):
        return _page(request, None, status=410, refusal=InvitationEnded().detail)
    form = AccountForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, offer, form)
    try:
        seconds = counted(request, "invitation", "ip")
    except (RedisError, OSError):
        return later(request, 503, SECONDS_WITHOUT_COUNT)
    if seconds:
        return later(request, 429, seconds)
    if not request.user.is_authenticated and not form.is_valid():
        return _page(request, offer, form, status=400)
    try:
        if request.user.is_authenticated:
            invitations.accept(token, request.user.pk)
        else:
            _join(request, token, form)
    except AccountRefused as refused:
        form.add_error(None, str(refused)[:1].upper() + str(refused)[1:] + ("" if str(refused).endswith(".") else "."))
        return _page(request, offer, form, status=400)
    except AccountExists as refused:
        form.add_error("username" if refused.field == "username" else None, refused.detail)
        return _page(request, offer, form, status=refused.status)
    except Refused as refused:
        return _page(request, offer, form, status=refused.status, refusal=refused.detail)
    request.session.pop(TOKEN, None)
    request.session[TENANT_IN_SESSION] = str(offer.tenant_id)
    messages.success(request, f"You are a member of {offer.tenant_name} now.")
    return redirect("chat")


def _join(request: HttpRequest, token: str, form: AccountForm) -> None:
    given = form.cleaned_data
    _, user_id = invitations.join(token, username=given["username"], password=given["password"])
    user = PasswordBackend().get_user(user_id)
    assert user is not None
    login(request, user, BACKEND)


def _page(
    request: HttpRequest, offer: Offer | None, form: forms.Form | None = None, *, status: int = 200, refusal: str = ""
) -> HttpResponse:
    context = {"offer": offer, "form": form, "refusal": refusal}
    return render(request, "accounts/invitation.html", context, status=status)
