"""`manage.py create_member --tenant SLUG --username U --role ROLE [--password P]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from tenants.models import Membership, Role, Tenant, User
from tenants.routing import on_login


class Command(BaseCommand):
    """Make a user if there is none of that name, and a member of the tenant with that role."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant, --username and --role; --password only for a new user or a new password."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--username", required=True)
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--password")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the user's id; a second call changes the role."""
        with on_login("operator"), transaction.atomic(using="operator"):
            tenant = Tenant.objects.filter(slug=options["tenant"]).first()
            if tenant is None:
                raise CommandError(f"there is no tenant {options['tenant']}")
            user, created = User.objects.get_or_create(username=options["username"])
            if options["password"]:
                user.set_password(options["password"])
            elif created:
                user.set_unusable_password()
            user.save()
            Membership.objects.update_or_create(tenant=tenant, user=user, defaults={"role": options["role"]})
            self.stdout.write(str(user.id))
