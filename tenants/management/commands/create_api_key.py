"""`manage.py create_api_key --tenant SLUG --user USERNAME [--name N] [--scopes a,b]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import as_operator
from tenants.models import ApiKey, Membership
from tenants.people import keys
from tenants.people.accounts import check_field


class Command(BaseCommand):
    """Make an API key for a member; without --scopes it may do everything that the role allows."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant and --user name the member."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--user", required=True)
        parser.add_argument("--name", default="")
        parser.add_argument("--scopes", help="comma-separated, such as chat,tools:read")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints only the key, once; it is stored as a hash."""
        with as_operator():
            check_field(ApiKey, "name", options["name"])
            membership = Membership.objects.filter(
                tenant__slug=options["tenant"], user__username=options["user"]
            ).first()
            if membership is None:
                raise CommandError(f"{options['user']} is not a member of {options['tenant']}")
            scopes = options["scopes"].split(",") if options["scopes"] else None
            try:
                _, key = keys.create(membership=membership, name=options["name"], scopes=scopes)
            except keys.UnknownScope as unknown:
                raise CommandError(str(unknown)) from unknown
        self.stdout.write(key)
