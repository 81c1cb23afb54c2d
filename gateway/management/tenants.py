"""What commands about one tenant begin with: the operator's login, the tenant, and refusals as errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator
from tenants.models import Tenant


def add_tenant(parser: Any) -> None:
    """--tenant SLUG."""
    parser.add_argument("--tenant", required=True, metavar="SLUG")


@contextmanager
def of_tenant(slug: str) -> Iterator[Tenant]:
    """The tenant of that slug, on the operator's login and in one transaction; a refusal ends the command."""
    with as_operator():
        tenant = Tenant.objects.filter(slug=slug).first()
        if tenant is None:
            raise CommandError(f"there is no tenant {slug!r}")
        try:
            yield tenant
        except Refused as refused:
            raise CommandError(refused.detail) from None
