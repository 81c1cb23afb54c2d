"""`manage.py grant_tool --tenant SLUG NAME (--allow | --deny | --remove) [--user NAME] [--role ROLE]`."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.management.tenants import add_tenant, of_tenant
from gateway.runs.agents import tool_settings
from tenants.models import Role
from tools.settings import grants
from tools.settings.errors import NoSuchGrant


class Command(BaseCommand):
    """Allow or deny a tool, `service.*` or `*` to a user, a role or everybody; --remove takes such grants away."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant, the tool's name, one of the effects, and whom it is about."""
        add_tenant(parser)
        parser.add_argument("name", metavar="NAME", help="the tool's name")
        effect = parser.add_mutually_exclusive_group(required=True)
        for name in ("allow", "deny", "remove"):
            effect.add_argument(f"--{name}", dest="effect", action="store_const", const=name)
        parser.add_argument("--user", metavar="NAME")
        parser.add_argument("--role", choices=Role.values)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the grant's id, or the ids of those that are gone."""
        removes = options["effect"] == "remove"
        given = {"tool": options["name"], "user": options["user"], "role": options["role"]}
        with of_tenant(options["tenant"]) as tenant:
            # Of a tool that has gone, grants are taken away all the same.
            wanted = grants.read(
                tenant.pk,
                given | {"effect": "allow" if removes else options["effect"]},
                lambda name: removes or tool_settings.exists(tenant.pk, name),
            )
            if not removes:
                self.stdout.write(str(grants.add(wanted).pk))
                return
            found = list(grants.alike(wanted))
            if not found:
                raise NoSuchGrant
            for grant in found:
                self.stdout.write(str(grant.pk))
                grants.remove(grant)
