"""`manage.py audit …`: what the operator does about the audit."""

import sys
from typing import Any, Protocol

from django.core.management.base import BaseCommand

from gateway.operations.audit_commands import begin_new_log, erase, export, public_key, replay, rotate_key, verify


class Subcommand(Protocol):
    """A module of `gateway.operations.audit_commands`."""

    __doc__: str | None

    def add_arguments(self, parser: Any) -> None:
        """Say what it takes."""

    def handle(self, options: dict[str, Any]) -> int:
        """Do it; returns the exit code."""


SUBCOMMANDS: dict[str, Subcommand] = {
    "verify": verify,
    "export": export,
    "erase": erase,
    "replay": replay,
    "public-key": public_key,
    "rotate-key": rotate_key,
    "begin-new-log": begin_new_log,
}


class Command(BaseCommand):
    """Verify, export and keep the audit."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: Any) -> None:
        """One parser a subcommand."""
        subparsers = parser.add_subparsers(dest="subcommand", required=True)
        for name, module in SUBCOMMANDS.items():
            text = (module.__doc__ or "").strip()
            module.add_arguments(subparsers.add_parser(name, help=text.splitlines()[0], description=text))

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit with the subcommand's code."""
        code = SUBCOMMANDS[options["subcommand"]].handle(options)
        if code:
            sys.exit(code)
