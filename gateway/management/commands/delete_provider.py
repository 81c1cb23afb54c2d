"""`manage.py delete_provider SLUG [--tenant SLUG]`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.models_of import add_tenant, within
from gateway.providers.routing.settings import changes


class Command(BaseCommand):
    """Remove a provider of the operator's, or of a tenant's own, with its key."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """SLUG and --tenant."""
        parser.add_argument("slug")
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """No such provider is an error."""
        with within(options["tenant"]) as tenant_id:
            changes.remove(tenant_id, options["slug"])
