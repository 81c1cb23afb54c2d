"""`manage.py archive_agent --tenant SLUG NAME [--take-back]`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.tenants import add_tenant, of_tenant
from gateway.runs.agents import changes


class Command(BaseCommand):
    """Have nothing begin with an agent any more, while runs that have begun go on; --take-back undoes it."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant and the agent's slug."""
        add_tenant(parser)
        parser.add_argument("name", metavar="NAME", help="the agent's slug")
        parser.add_argument("--take-back", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the agent's slug and version."""
        with of_tenant(options["tenant"]) as tenant:
            agent = changes.change(tenant.pk, options["name"], {}, archived=not options["take_back"])
            self.stdout.write(f"{agent.slug} {agent.version}")
