"""`manage.py schedules list|pause|delete`: the schedules of any tenant."""

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.management.tenants import add_tenant, of_tenant
from gateway.schedules import changes
from gateway.schedules.models import Schedule


class Command(BaseCommand):
    """List, pause or delete the schedules of a tenant; what they ask is shown to nobody."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """What to do, and the tenant's slug."""
        does = parser.add_subparsers(dest="does", required=True)
        add_tenant(does.add_parser("list", help="id, whose, when, and when next, of each"))
        for name, words in (("pause", "its owner can switch it on again"), ("delete", "with its slots")):
            one = does.add_parser(name, help=words)
            add_tenant(one)
            one.add_argument("id", type=uuid.UUID)

    def handle(self, *args: Any, does: str, tenant: str, **options: Any) -> None:
        """A refusal is one clear line."""
        with of_tenant(tenant) as found:
            rows = Schedule.objects.filter(tenant_id=found.id).select_related("user", "agent").order_by("created_at")
            if does == "list":
                for each in rows:
                    self.stdout.write(_line(each))
                return
            one = rows.filter(pk=options["id"]).first()
            if one is None:
                raise CommandError(f"{found.slug} has no schedule {options['id']}")
            if does == "pause":
                changes.pause(one, "The operator paused it.")
            else:
                changes.end(one)


def _line(row: Schedule) -> str:
    agent = row.agent.slug if row.agent else "the default agent"
    following = f"next {row.next_at:%Y-%m-%d %H:%M} UTC" if row.next_at else "paused" if not row.enabled else "never"
    return f"{row.pk}  {row.user.get_username()}  {row.cron}  {row.tz}  {agent}  {following}"
