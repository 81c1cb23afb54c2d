"""`manage.py set_models [FILE] [--tenant SLUG] [--operator-providers a,b|all]`."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.management.models_of import add_tenant, within
from gateway.providers.routing.settings import rules
from tenants.models import Tenant
from tenants.people import recorded
from tenants.people.changes import record


class Command(BaseCommand):
    """Say which models are allowed, what replaces them and what they cost, for everybody or for one tenant."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """FILE has the JSON of PATCH /api/v1/models/; - is standard input. Without it nothing of that is changed."""
        parser.add_argument("file", nargs="?")
        parser.add_argument("--operator-providers", metavar="a,b|all", help="those of the operator's it may use")
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what is said then, as JSON."""
        offered, slug = options["operator_providers"], options["tenant"]
        if offered is not None and slug is None:
            raise CommandError("--operator-providers is about one tenant: name it with --tenant")
        given = _read(options["file"]) if options["file"] else None
        with within(slug) as tenant_id:
            if offered is not None:
                assert tenant_id is not None
                tenant = Tenant.objects.select_for_update().get(pk=tenant_id)
                before = recorded.TENANT.of(tenant)
                names = [name for name in offered.split(",") if name]
                tenant.operator_providers = None if offered == "all" else names
                tenant.save(update_fields=["operator_providers"])
                record(before, recorded.TENANT.of(tenant))
            row = rules.change(tenant_id, given) if given is not None else rules.found(tenant_id)
            self.stdout.write(json.dumps(rules.shown(row), indent=2))


def _read(path: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
        given = json.loads(text)
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(given, dict):
        raise CommandError(f"{path} must have a JSON object")
    return given
