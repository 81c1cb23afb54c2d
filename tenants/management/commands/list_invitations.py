"""`manage.py list_invitations --tenant SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand

from tenants.management.accounts import as_operator, tenant_of
from tenants.members import invitations


class Command(BaseCommand):
    """The invitations into a tenant that can be accepted still."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Of which tenant."""
        parser.add_argument("--tenant", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each, newest first: id, role, whose it is or "anybody", when it ends."""
        with as_operator():
            for row in invitations.open_ones(tenant_of(options["tenant"]).pk):
                words = (str(row.pk), row.role, row.email or "anybody", f"{row.expires_at:%Y-%m-%dT%H:%MZ}")
                self.stdout.write("\t".join(words))
