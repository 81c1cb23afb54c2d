"""Who may see a page, and in which tenant they see it."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from tenants.login import authentication
from tenants.people.principal import Principal, scopes_of
from tenants.scope import transactions


class SignedInRequest(HttpRequest):
    """A page's request once `signed_in` has let it through."""

    principal: Principal


Page = Callable[..., HttpResponse]


def signed_in(page: Page) -> Page:
    """Serve the page to members only, in their tenant's scope; redirect others to the log-in page."""

    @wraps(page)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        principal = authentication.by_session(request)
        if principal is None:
            raise PermissionDenied("You are not a member of any tenant yet. The operator of this Toolgate can add you.")
        request.principal = principal
        with transactions.scope(principal.tenant_id, principal.user_id):
            return page(request, *args, **kwargs)

    return guarded


def memberships(request: HttpRequest) -> list[tuple[uuid.UUID, str, str, str]]:
    """The tenants that the signed-in user may switch between: (tenant id, slug, name, role)."""
    user_id = request.user.pk
    return authentication.memberships(user_id) if user_id else []


def other_tenants(request: SignedInRequest) -> list[tuple[Principal, str]]:
    """The signed-in user as a member of each of their tenants but the session's, and that tenant's name."""
    here = request.principal
    return [
        (Principal(tenant_id, slug, here.user_id, here.username, role, scopes_of(role)), name)
        for tenant_id, slug, name, role in memberships(request)
        if tenant_id != here.tenant_id
    ]


def switch(request: HttpRequest, tenant_id: uuid.UUID) -> bool:
    """Put the session into another of the user's tenants; False when it is not theirs."""
    if all(row[0] != tenant_id for row in memberships(request)):
        return False
    request.session[authentication.TENANT_IN_SESSION] = str(tenant_id)
    return True
