"""`manage.py revoke_invitation --tenant SLUG ID`."""

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator, tenant_of
from tenants.members import invitations


class Command(BaseCommand):
    """End an invitation at once."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Which; `list_invitations` says the ids."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("id", type=uuid.UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done."""
        with as_operator():
            try:
                invitations.revoke(tenant_of(options["tenant"]).pk, options["id"])
            except Refused as refused:
                raise CommandError(refused.detail) from None
        self.stdout.write(f"the invitation {options['id']} is revoked")
