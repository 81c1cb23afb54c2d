"""`manage.py setup_database`: roles, logins and their memberships, with the owner's URL."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.scope.roles import SetupRefused, setup


class Command(BaseCommand):
    """Make Toolgate's database roles and logins; safe to run again. Run it before the first `migrate`."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError with one clear line when the database refuses."""
        urls = dict(settings.DATABASE_URLS)
        if not urls.get("owner"):
            raise CommandError("DATABASE_OWNER_URL is not set")
        try:
            for line in setup(urls["owner"], urls):
                self.stdout.write(line)
        except SetupRefused as refused:
            raise CommandError(str(refused)) from refused
