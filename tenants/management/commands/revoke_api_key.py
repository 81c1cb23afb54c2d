"""`manage.py revoke_api_key --tenant SLUG ID`."""

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import as_operator, tenant_of
from tenants.models import ApiKey
from tenants.people import keys


class Command(BaseCommand):
    """Revoke a key at once."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Which; `list_api_keys` says the ids."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("id", type=uuid.UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done."""
        with as_operator():
            tenant = tenant_of(options["tenant"])
            row = ApiKey.objects.select_for_update().filter(tenant=tenant, pk=options["id"]).first()
            if row is None:
                raise CommandError(f"{tenant.slug} has no key {options['id']}")
            keys.end(row)
        self.stdout.write(f"the key {row.prefix}… is revoked")
