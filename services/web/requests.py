"""What every page of services begins with: an owner, and a transaction in their tenant."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import Http404

from services import changes
from services.errors import NoSuchService
from services.models import Service
from tenants.login.access import SignedInRequest
from tenants.me.frame import section_frame
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope


def owner_section(request: SignedInRequest) -> dict[str, Any]:
    """The frame of the section; raises PermissionDenied for whoever is no owner."""
    return section_frame(request, "services")


@contextmanager
def within(request: SignedInRequest) -> Iterator[None]:
    """A transaction in the tenant of the request, which an exception undoes."""
    with transactions.scope(request.principal.tenant_id, request.principal.user_id):
        yield


def found_or_404(slug: str) -> Service:
    """The tenant's service; raises Http404."""
    try:
        return changes.found(slug)
    except NoSuchService:
        raise Http404 from None


def scope_of(request: SignedInRequest) -> TenantScope:
    """In whose name services are asked."""
    return TenantScope(request.principal.tenant_id, request.principal.user_id)
