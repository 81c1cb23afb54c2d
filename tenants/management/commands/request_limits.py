"""`manage.py request_limits --tenant SLUG [--ceiling N | --no-ceiling]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.errors import Refused
from tenants.limits import changes
from tenants.management.accounts import as_operator
from tenants.models import Tenant


class Command(BaseCommand):
    """Say which limits of requests per minute a tenant has; set the highest that it may have."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Without --ceiling nothing is changed."""
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        given = parser.add_mutually_exclusive_group()
        given.add_argument("--ceiling", type=int, metavar="N", help="no limit of the tenant's is higher")
        given.add_argument("--no-ceiling", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each limit."""
        try:
            with as_operator():
                tenant = Tenant.objects.filter(slug=options["tenant"]).first()
                if tenant is None:
                    raise CommandError(f"there is no tenant {options['tenant']!r}")
                if options["ceiling"] is not None or options["no_ceiling"]:
                    changes.set_ceiling(tenant.pk, options["ceiling"])
                row = changes.of(tenant.pk)
                for name in (*changes.OWNERS, "ceiling"):
                    limit = getattr(row, name)
                    self.stdout.write(f"{name}\t{'none' if limit is None else limit}")
        except Refused as refused:
            raise CommandError(refused.detail) from None
