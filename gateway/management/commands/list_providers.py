"""`manage.py list_providers [--tenant SLUG]`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.models_of import add_tenant, within
from gateway.providers.routing.settings import changes


class Command(BaseCommand):
    """List the operator's providers, or a tenant's own, one a line; never their keys."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant."""
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Slug, kind, address, whether there is a key, and what is wrong."""
        with within(options["tenant"]) as tenant_id:
            for row in changes.all_of(tenant_id):
                state = "switched off" if not row.enabled else row.problem or "ok"
                key = "with a key" if row.api_key else "without a key"
                self.stdout.write(f"{row.slug}\t{row.kind}\t{row.base_url or '-'}\t{key}\t{state}")
