"""`manage.py create_invitation --tenant SLUG --role ROLE [--email ADDRESS] [--days N]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator, tenant_of
from tenants.members import invitations
from tenants.models import Role


class Command(BaseCommand):
    """Invite somebody into a tenant, such as its first owner."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Into which tenant, as what; --email for the person with that address alone."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--email", default="")
        parser.add_argument("--days", type=int, default=invitations.DAYS)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints only the link, once; it is stored as a hash."""
        if not 1 <= options["days"] <= invitations.LONGEST_DAYS:
            raise CommandError(f"--days is from 1 to {invitations.LONGEST_DAYS}")
        with as_operator():
            tenant = tenant_of(options["tenant"])
            try:
                _, link = invitations.make(
                    tenant.pk, None, role=options["role"], email=options["email"], days=options["days"]
                )
            except Refused as refused:
                raise CommandError(refused.detail) from None
        self.stdout.write(link)
