"""`manage.py createsuperuser`: says which command makes an operator here."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """Django's own would write on the app's login, which row security keeps from making users."""

    help = "Use create_operator."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: Any) -> None:
        """Django's own, so that whatever was given the answer is the same."""
        for name in ("--username", "--email", "--database"):
            parser.add_argument(name)
        parser.add_argument("--noinput", "--no-input", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError."""
        name = options["username"] or "USERNAME"
        raise CommandError(f"use `manage.py create_operator {name}`, which also reads --password-file FILE")
