"""`manage.py create_oauth_client NAME --redirect-uri URI`: an OAuth client that the operator knows."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.oauth import clients
from tenants.scope.routing import on_login


class Command(BaseCommand):
    """Make a client that may ask members for access to /mcp, and print its id."""

    help = __doc__

    def add_arguments(self, parser: Any) -> None:
        """The client's name, and where people may be sent back to."""
        parser.add_argument("name")
        parser.add_argument("--redirect-uri", action="append", required=True, dest="uris")

    def handle(self, *args: Any, name: str, uris: list[str], **options: Any) -> None:
        """Make it."""
        try:
            with on_login("operator"):
                client = clients.register({"client_name": name, "redirect_uris": uris}, source="operator")
        except clients.ClientRefused as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(client.id)
