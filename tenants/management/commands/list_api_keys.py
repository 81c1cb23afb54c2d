"""`manage.py list_api_keys --tenant SLUG [--user USERNAME]`."""

from typing import Any

from django.core.management.base import BaseCommand

from tenants.management.accounts import as_operator, tenant_of
from tenants.people import keys


class Command(BaseCommand):
    """The working keys of a tenant, without the keys themselves."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Of which tenant, or of one member of it."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--user", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each, by user: id, how it begins, username, scopes or "all", end or "never"."""
        with as_operator():
            for row in keys.working_in(tenant_of(options["tenant"]).pk, options["user"]):
                ends = f"{row.expires_at:%Y-%m-%dT%H:%MZ}" if row.expires_at else "never"
                scopes = "all" if row.scopes is None else ",".join(row.scopes)
                self.stdout.write("\t".join((str(row.pk), row.prefix, row.user.username, scopes, ends)))
