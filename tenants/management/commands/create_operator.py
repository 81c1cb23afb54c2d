"""`manage.py create_operator USERNAME [--email E] [--password-file FILE] [--promote] [--reset-password]`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import add_password_file, as_operator, asked_password, password_of
from tenants.models import User
from tenants.people import accounts


class Command(BaseCommand):
    """Make an operator: a superuser, who sees every tenant under /admin/.

    The password is asked for twice, or read from --password-file, or from standard input where that is no terminal.
    """

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """An existing account needs an option, so that no typing error promotes anybody."""
        parser.add_argument("username")
        parser.add_argument("--email", default="")
        add_password_file(parser)
        parser.add_argument("--promote", action="store_true", help="make an existing account an operator")
        parser.add_argument("--reset-password", action="store_true", help="give an existing operator a new password")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done."""
        with as_operator():
            user = accounts.find(options["username"])
            if user is None and (options["promote"] or options["reset_password"]):
                raise CommandError(f"there is no user {options['username']!r}")
            done = self._make(options) if user is None else self._change(user, options)
        self.stdout.write(f"{done}; log in at {settings.PUBLIC_URL}/admin/")

    def _make(self, options: dict[str, Any]) -> str:
        user = accounts.new(options["username"], email=options["email"])
        accounts.set_password(user, _password(options))
        user.is_staff = user.is_superuser = True
        user.save()
        return f"{user.username} is an operator now"

    def _change(self, user: User, options: dict[str, Any]) -> str:
        if not user.is_superuser and not options["promote"]:
            raise CommandError(
                f"there is a user {user.username} who is no operator: --promote makes them one"
                " with the password that they have, --promote --reset-password with a new one"
            )
        if user.is_superuser and not (options["promote"] or options["reset_password"]):
            raise CommandError(f"{user.username} is an operator already: --reset-password sets a new password")
        if options["reset_password"]:
            accounts.set_password(user, _password(options))
        elif options["password_file"]:
            raise CommandError(f"{user.username} has a password: say --reset-password to change it")
        if options["email"]:
            accounts.check_field(User, "email", options["email"])
            user.email = options["email"]
        user.is_active = user.is_staff = user.is_superuser = True
        user.save()
        return f"{user.username} is an operator" + (" with a new password" if options["reset_password"] else "")


def _password(options: dict[str, Any]) -> str:
    return password_of(options["password_file"]) if options["password_file"] else asked_password()
