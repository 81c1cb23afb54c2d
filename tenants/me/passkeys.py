"""`/settings/passkeys/`: one's own passkeys."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from tenants.errors import Refused
from tenants.login import reauthentication
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.authentication import SIGN_ON_IN_SESSION
from tenants.login.second_factor import passkeys
from tenants.login.second_factor.passkey_step import NOWHERE
from tenants.me.frame import section_frame

PAGE = "settings-passkeys"
WRONG = "This passkey could not be added: it took too long, is here already, or is one too many. Try again."


class _NameForm(forms.Form):
    name = forms.CharField(max_length=100)

    def clean_name(self) -> str:
        """One line of text."""
        name = str(self.cleaned_data["name"])
        if not name.isprintable():
            raise forms.ValidationError("The name must be one line of characters that can be printed.")
        return name


class _AddForm(_NameForm):
    answer = forms.CharField(max_length=passkeys.LONGEST_ANSWER)


class OfProvider(Refused):
    """A passkey opens every tenant of its user; whoever came by one tenant's provider adds none."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("You logged in by single sign-on of a tenant. Log in with your password to add a passkey.")


@never_cache
@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The viewer's passkeys; and adding one, for who proved lately who they are."""
    return _page(request)


@sensitive_post_parameters()
@never_cache
@require_POST
@signed_in
def add(request: SignedInRequest) -> HttpResponse:
    """Keep the passkey that the browser has made."""
    if SIGN_ON_IN_SESSION in request.session:
        return _page(request, refusal=OfProvider().detail, status=403)
    reauthentication.demand(request, request.principal)
    form, user = _AddForm(request.POST), _user(request)
    if not form.is_valid():
        return _page(request, refusal="Give the passkey a name of at most 100 characters.", status=400)
    if not passkeys.add(request.session, user, form.cleaned_data["name"], form.cleaned_data["answer"]):
        return _page(request, refusal=WRONG, status=400)
    messages.success(request, f"The passkey {form.cleaned_data['name']} logs you in from now on.")
    return redirect(PAGE)


@require_POST
@signed_in
def rename(request: SignedInRequest, id: int) -> HttpResponse:
    """Call one otherwise."""
    form = _NameForm(request.POST)
    if not form.is_valid():
        return _page(request, refusal="Give the passkey a name of at most 100 characters.", status=400)
    if not passkeys.rename(_user(request), id, form.cleaned_data["name"]):
        raise Http404
    return redirect(PAGE)


@require_POST
@signed_in
def remove(request: SignedInRequest, id: int) -> HttpResponse:
    """Forget one; it logs nobody in any more."""
    if not passkeys.remove(_user(request), id):
        raise Http404
    messages.success(request, "The passkey is removed. Your device may still show it; delete it there, too.")
    return redirect(PAGE)


def _user(request: SignedInRequest) -> Any:
    return request.user


def _page(request: SignedInRequest, *, refusal: str = "", status: int = 200) -> HttpResponse:
    user, own = _user(request), SIGN_ON_IN_SESSION not in request.session
    context = section_frame(request, "passkeys") | {
        "listed": passkeys.of(user),
        "refusal": refusal,
        "most": passkeys.MOST,
    }
    context |= {"possible": passkeys.possible(), "nowhere": NOWHERE, "own": own, "of_provider": OfProvider().detail}
    context["recent"] = reauthentication.is_recent(request)
    if context["possible"] and own and context["recent"]:
        context["options"] = passkeys.begin_adding(request.session, user)
    return render(request, "settings/passkeys.html", context, status=status)


urlpatterns = [
    path("", index, name=PAGE),
    path("add/", add, name="settings-passkey-add"),
    path("<int:id>/rename/", rename, name="settings-passkey-rename"),
    path("<int:id>/remove/", remove, name="settings-passkey-remove"),
]
