"""`manage.py list_tools --tenant SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.tenants import add_tenant, of_tenant
from gateway.runs.agents import tool_settings


class Command(BaseCommand):
    """A tenant's tools: name, on or off, tier, rate, approvals needed, and seconds that they may take, between tabs."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant."""
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """One a line."""
        with of_tenant(options["tenant"]) as tenant:
            for each in tool_settings.of_tenant(tenant.pk):
                said = each.body()
                values = [said[name] for name in ("tier", "rate", "approvals_needed", "approval_expires")]
                self.stdout.write("\t".join([said["tool"], "on" if said["enabled"] else "off", *map(str, values)]))
