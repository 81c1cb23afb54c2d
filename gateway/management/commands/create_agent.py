"""`manage.py create_agent --tenant SLUG NAME [--file FILE]`."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.http import bodies
from gateway.management.tenants import add_tenant, of_tenant
from gateway.models import Agent
from gateway.runs.agents import changes
from gateway.runs.errors import InvalidAgent


class Command(BaseCommand):
    """Make an agent unless the tenant has one of that slug; otherwise change it. FILE has its fields as JSON."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant, the agent's slug, and a file; "-" is standard input."""
        add_tenant(parser)
        parser.add_argument("name", metavar="NAME", help="the agent's slug")
        parser.add_argument("--file", metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the agent's slug and version."""
        slug = options["name"]
        with of_tenant(options["tenant"]) as tenant:
            given = bodies.json_object(_read(options["file"]), InvalidAgent) if options["file"] else {}
            if Agent.objects.filter(tenant=tenant, slug=slug).exists():
                agent = changes.change(tenant.pk, slug, given)
            else:
                agent = changes.add(tenant.pk, given | {"slug": slug})
            self.stdout.write(f"{agent.slug} {agent.version}")


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
