"""`manage.py remove_member --tenant SLUG --username USERNAME`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator, tenant_of
from tenants.members import memberships
from tenants.people import accounts


class Command(BaseCommand):
    """End a membership; the last active owner stays."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Whose, and where."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--username", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done."""
        with as_operator():
            tenant, user = tenant_of(options["tenant"]), accounts.find(options["username"])
            if user is None:
                raise CommandError(f"there is no user {options['username']!r}")
            try:
                memberships.remove(tenant.pk, user.pk)
            except Refused as refused:
                raise CommandError(refused.detail) from None
        self.stdout.write(f"{user.username} is no member of {tenant.slug} any more")
