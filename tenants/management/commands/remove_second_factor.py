"""`manage.py remove_second_factor USERNAME`: for somebody who has lost their phone and their recovery codes."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import as_operator
from tenants.people import accounts


class Command(BaseCommand):
    """Remove a user's second factor and passkeys; their password alone logs them in then."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Whose."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line that says what was done."""
        with as_operator():
            user = accounts.find(options["username"])
            if user is None:
                raise CommandError(f"there is no user {options['username']!r}")
            removed, _ = Authenticator.objects.filter(user_id=user.pk).delete()
        if not removed:
            raise CommandError(f"{user.username} has no second factor")
        self.stdout.write(f"{user.username} logs in by password alone now")
