"""`manage.py migrate`, always with the owner's login: the app's own may not change the schema."""

from typing import Any

from django.core.management.commands.migrate import Command as Migrate


class Command(Migrate):
    """Django's own migrate, on the owner's connection unless --database says otherwise."""

    def add_arguments(self, parser: Any) -> None:
        """The default of --database is the owner."""
        super().add_arguments(parser)
        parser.set_defaults(database="owner")
