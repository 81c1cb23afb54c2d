"""`manage.py changepassword USERNAME`, on the operator's login: the app's own may not change users."""

from typing import Any

from django.contrib.auth.management.commands.changepassword import Command as ChangePassword


class Command(ChangePassword):
    """Django's own changepassword, on the operator's connection unless --database says otherwise."""

    def add_arguments(self, parser: Any) -> None:
        """The default of --database is the operator."""
        super().add_arguments(parser)
        parser.set_defaults(database="operator")
