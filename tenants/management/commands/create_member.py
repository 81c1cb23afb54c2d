"""`manage.py create_member --tenant SLUG --username U --role ROLE [--password-file FILE | --password P]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.management.accounts import add_password_file, as_operator, password_of, tenant_of
from tenants.members import memberships
from tenants.members.errors import LastOwner
from tenants.models import Role
from tenants.people import accounts


class Command(BaseCommand):
    """Make a user unless one has that name, and a member of the tenant with that role."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """--tenant, --username and --role; a password only for a new user or a new password."""
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--username", required=True)
        parser.add_argument("--role", required=True, choices=Role.values)
        given = parser.add_mutually_exclusive_group()
        add_password_file(given)
        given.add_argument("--password", help="seen by everybody who may list processes: prefer --password-file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the user's id; a second call changes the role."""
        password = options["password"]
        if password is not None:
            self.stderr.write("A password in --password can be read in the list of processes; use --password-file.")
        elif options["password_file"]:
            password = password_of(options["password_file"])
        with as_operator():
            tenant = tenant_of(options["tenant"])
            user = accounts.find(options["username"]) or accounts.new(options["username"])
            if password is not None:
                accounts.set_password(user, password)
            user.save()
            try:
                memberships.put(tenant.pk, user, options["role"])
            except LastOwner as refused:
                raise CommandError(refused.detail) from None
            self.stdout.write(str(user.id))
