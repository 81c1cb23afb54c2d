"""`manage.py create_provider SLUG --kind KIND [--base-url URL] [--key-file FILE] [--models a,b] [--tenant SLUG]`."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.management.models_of import add_tenant, within
from gateway.providers.routing.settings import changes, testing, wanted
from tenants.errors import Refused
from tenants.management.accounts import password_of


class Command(BaseCommand):
    """Add a provider of the operator's, whose address may be private, or of a tenant's own; it is tested first."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """SLUG, its kind and address; the key comes from a file, so that no list of processes shows it."""
        parser.add_argument("slug")
        parser.add_argument("--kind", required=True, choices=wanted.KINDS)
        parser.add_argument("--base-url", default="")
        parser.add_argument(
            "--key-file", metavar="FILE", help="read the key from FILE's first line; - is standard input"
        )
        parser.add_argument("--models", default="", help="comma-separated; without it those that are known of the kind")
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what the test found; a key that the provider refuses is an error, and nothing is saved."""
        given = {name: options[name] for name in ("slug", "kind", "base_url")}
        given["models"] = [name for name in options["models"].split(",") if name] or None
        given["api_key"] = password_of(options["key_file"]) if options["key_file"] else ""
        try:
            new = wanted.new(given, own=options["tenant"] is not None)
            with within(options["tenant"]):
                pass
            tested = asyncio.run(testing.demand(new))
        except Refused as refused:
            raise CommandError(refused.detail) from None
        with within(options["tenant"]) as tenant_id:
            changes.create(tenant_id, new, tested)
        self.stdout.write(f"{new.slug}: {tested.detail}")
