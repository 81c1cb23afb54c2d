"""`manage.py create_tenant SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.runs.agents.queries import create_tenant
from tenants.management.accounts import as_operator
from tenants.models import Tenant
from tenants.people.accounts import check_field


class Command(BaseCommand):
    """Make a tenant with a default agent that may use every tool the operator allows."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """SLUG and an optional --name."""
        parser.add_argument("slug")
        parser.add_argument("--name", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the tenant's id; an existing slug is an error."""
        with as_operator():
            check_field(Tenant, "slug", options["slug"])
            if options["name"]:
                check_field(Tenant, "name", options["name"])
            if Tenant.objects.filter(slug=options["slug"]).exists():
                raise CommandError(f"there is a tenant {options['slug']} already")
            self.stdout.write(str(create_tenant(slug=options["slug"], name=options["name"]).id))
