"""`manage.py list_members --tenant SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand

from tenants.management.accounts import as_operator, tenant_of
from tenants.models import Membership


class Command(BaseCommand):
    """The members of a tenant."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Of which tenant."""
        parser.add_argument("--tenant", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each, by name: username, role, when they were last here or "never"."""
        with as_operator():
            tenant = tenant_of(options["tenant"])
            found = Membership.objects.filter(tenant=tenant).select_related("user").order_by("user__username")
            for row in found:
                seen = f"{row.last_seen_at:%Y-%m-%dT%H:%MZ}" if row.last_seen_at else "never"
                self.stdout.write("\t".join((row.user.username, row.role, seen)))
