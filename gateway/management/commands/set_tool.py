"""`manage.py set_tool --tenant SLUG NAME [--on | --off] [--tier TIER] [--rate RATE] …`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.management.tenants import add_tenant, of_tenant
from gateway.runs.agents import tool_settings

_VALUES = ("tier", "rate", "approvals_needed", "approval_expires")


class Command(BaseCommand):
    """Say something of a tool in a tenant. An empty value is the tool's own; what is not named stays."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant, the tool's name, and what is said of it."""
        add_tenant(parser)
        parser.add_argument("name", metavar="NAME", help="the tool's name")
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument("--on", dest="enabled", action="store_true", default=None)
        switch.add_argument("--off", dest="enabled", action="store_false", default=None)
        for name in _VALUES:
            parser.add_argument(f"--{name.replace('_', '-')}", default=None)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what holds of the tool now, one a line."""
        given = {name: _value(name, options[name]) for name in _VALUES if options[name] is not None}
        if options["enabled"] is not None:
            given["enabled"] = options["enabled"]
        with of_tenant(options["tenant"]) as tenant:
            said = tool_settings.carry_out(tool_settings.plan(tenant.pk, options["name"], given)).body()
            for name in tool_settings.FIELDS:
                self.stdout.write(f"{name}: {str(said[name]).lower()}")


def _value(name: str, text: str) -> Any:
    if not text:
        return None
    if name not in ("approvals_needed", "approval_expires"):
        return text
    try:
        return int(text)
    except ValueError:
        raise CommandError(f"--{name.replace('_', '-')} must be a whole number") from None
