"""`manage.py list_agents --tenant SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.tenants import add_tenant, of_tenant
from gateway.models import Agent


class Command(BaseCommand):
    """A tenant's agents: slug, version, model, and whether it is the default one or archived, between tabs."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant."""
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """One a line."""
        with of_tenant(options["tenant"]) as tenant:
            for agent in Agent.objects.filter(tenant=tenant).order_by("-is_default", "slug"):
                state = "default" if agent.is_default else "archived" if agent.archived else ""
                self.stdout.write("\t".join([agent.slug, str(agent.version), agent.model or "-", state]).rstrip())
