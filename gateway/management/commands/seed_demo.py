"""`manage.py seed_demo`: the demo tenants, their people and keys, once; development only."""

import json
import secrets
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from gateway.embedded.services.data_directory import DataDirectory
from gateway.runs.agents.queries import create_tenant
from tenants.models import Membership, Tenant, User
from tenants.people import keys, recorded
from tenants.people.changes import acting, record
from tenants.scope.routing import on_login

PEOPLE = {
    "demo": {"alice": "member", "bob": "member", "carol": "approver", "dana": "auditor", "admin": "owner"},
    "acme": {"zoe": "member", "yuri": "approver"},
}
SUPERUSER = "admin"
SECRETS = "demo-secrets.json"


class Command(BaseCommand):
    """Make the demo tenants when they are missing, and print their passwords and keys as one JSON object.

    Passwords and keys are generated at the first start and kept in the data directory, readable by
    its owner only, so that every start prints the same ones.
    """

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints {"tenants": {slug: {username: {"password", "api_key"}}}}."""
        if not settings.DEVELOPMENT:
            raise CommandError("demo tenants are for development only")
        directory = DataDirectory(settings.TOOLGATE_DATA_DIR)
        # Those that it does not name, or cannot name any more, get others.
        known = directory.read(SECRETS)
        with on_login("operator"), transaction.atomic(using="operator"), acting(None, "command"):
            for slug, people in PEOPLE.items():
                tenant = Tenant.objects.filter(slug=slug).first() or create_tenant(slug=slug)
                of_tenant = known.setdefault(slug, {})
                members = set(tenant.memberships.values_list("user__username", flat=True))
                for username, role in people.items():
                    if username not in members or username not in of_tenant:
                        of_tenant[username] = _seed(tenant, username, role)
            directory.write(SECRETS, known)
        self.stdout.write(json.dumps({"tenants": known}))


def _seed(tenant: Tenant, username: str, role: str) -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    superuser = username == SUPERUSER
    user, _ = User.objects.get_or_create(username=username, defaults={"email": f"{username}@{tenant.slug}.example"})
    user.is_staff = user.is_superuser = superuser
    user.set_password(password)
    user.save()
    membership, joined = Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": role})
    if joined:
        record(None, recorded.member(membership))
    _, key = keys.create(membership=membership, name="demo")
    return {"password": password, "api_key": key}
