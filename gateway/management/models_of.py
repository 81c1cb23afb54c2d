"""What the commands about providers and models share: whose they are."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator
from tenants.models import Tenant


def add_tenant(parser: Any) -> None:
    """--tenant SLUG; without it, the operator's."""
    parser.add_argument("--tenant", metavar="SLUG", help="a tenant's own; without it the operator's")


@contextmanager
def within(slug: str | None) -> Iterator[uuid.UUID | None]:
    """A transaction on the operator's login, and the tenant's id or None for the operator; a refusal is one line."""
    with as_operator():
        tenant = Tenant.objects.filter(slug=slug).first() if slug is not None else None
        if slug is not None and tenant is None:
            raise CommandError(f"there is no tenant {slug}")
        try:
            yield None if tenant is None else tenant.id
        except Refused as refused:
            raise CommandError(refused.detail) from None
