"""Who may see a page, and in which tenant they see it."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from tenants.login import authentication, meanwhile, reauthentication
from tenants.login.authentication import SecondFactorMissing
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.people import changes
from tenants.people.changes import ChangedMeanwhile, Unconfirmed
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions


class SignedInRequest(HttpRequest):
    """A page's request once `signed_in` has let it through."""

    principal: Principal


Page = Callable[..., HttpResponse]


def members_only(page: Page) -> Page:
    """Serve the page to members only, without a transaction; redirect others to the log-in page.

    For pages that wait for a network: they open `transactions.scope` themselves, around what they read and write.
    """

    @wraps(page)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        try:
            principal = authentication.by_session(request)
        except SecondFactorMissing:
            return redirect("settings-second-factor")
        if principal is None:
            raise PermissionDenied("You are not a member of any tenant yet. An owner of a tenant can invite you.")
        request.principal = principal
        if wrong := reauthentication.answered(request):
            return wrong
        confirmed = reauthentication.is_confirmed(request, principal)
        with (
            changes.acting(principal.user_id, "page", confirmed=confirmed),
            changes.based_on(request.POST.get(meanwhile.BASED_ON)),
        ):
            try:
                return page(request, *args, **kwargs)
            except (ReauthenticationRequired, Unconfirmed):
                return reauthentication.ask(request)
            except ChangedMeanwhile as changed:
                return meanwhile.answer(request, changed)

    return guarded


def signed_in(page: Page) -> Page:
    """Serve the page to members only, in their tenant's scope; redirect others to the log-in page."""

    def scoped(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        with transactions.scope(request.principal.tenant_id, request.principal.user_id):
            return page(request, *args, **kwargs)

    return wraps(page)(members_only(scoped))


def oneself(page: Page) -> Page:
    """Serve the page to whoever is logged in, also without a tenant or a second factor that it asks for.

    In their tenant's scope, or in none: `request.principal` is None then.
    """

    @wraps(page)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        request.principal = authentication.by_session(request, second_factor=False)
        if wrong := reauthentication.answered(request):
            return wrong
        try:
            with _own_scope(request):
                return page(request, *args, **kwargs)
        except (ReauthenticationRequired, Unconfirmed):
            return reauthentication.ask(request)

    return guarded


@contextmanager
def _own_scope(request: Any) -> Iterator[None]:
    principal: Principal | None = request.principal
    if principal is None:
        with transactions.of_user(request.user.pk):
            yield
    else:
        confirmed = reauthentication.is_confirmed(request, principal)
        acting = changes.acting(principal.user_id, "page", confirmed=confirmed)
        with transactions.scope(principal.tenant_id, principal.user_id), acting:
            yield


def memberships(request: HttpRequest) -> list[tuple[uuid.UUID, str, str, str]]:
    """The tenants that the signed-in user may switch between: (tenant id, slug, name, role)."""
    return authentication.memberships(request)


def other_tenants(request: SignedInRequest) -> list[tuple[Principal, str]]:
    """The signed-in user as a member of each of their tenants but the session's, and that tenant's name."""
    here = request.principal
    return [
        (Principal(tenant_id, slug, here.user_id, here.username, role, scopes_of(role)), name)
        for tenant_id, slug, name, role in authentication.open_to(request)
        if tenant_id != here.tenant_id
    ]


def switch(request: HttpRequest, tenant_id: uuid.UUID) -> bool:
    """Put the session into another of the user's tenants; False when it is not theirs."""
    if all(row[0] != tenant_id for row in memberships(request)):
        return False
    request.session[authentication.TENANT_IN_SESSION] = str(tenant_id)
    return True
