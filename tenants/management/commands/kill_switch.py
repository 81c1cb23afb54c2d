"""`manage.py kill_switch on KIND [TARGET] --reason WHY [--tenant SLUG] [--hours N]`, `… off ID`, `… list`."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.errors import Refused
from tenants.management.accounts import as_operator
from tenants.models import KillSwitch, Tenant
from tenants.switches import changes
from tenants.switches.changes import NewSwitch


class Command(BaseCommand):
    """Stop something at once, as the operator; end that; list what is stopped in every tenant."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """Without --tenant it is about all tenants."""
        actions = parser.add_subparsers(dest="action", required=True)
        on = actions.add_parser("on", help="stop something from now on; prints the switch's id")
        on.add_argument("kind", choices=KillSwitch.Kind.values)
        on.add_argument("target", nargs="?", default="", help="of everything none; of the tenant by default its slug")
        on.add_argument("--reason", required=True, help="whoever is stopped reads it")
        on.add_argument("--tenant", metavar="SLUG", help="only there; without it in every tenant")
        on.add_argument("--hours", type=float, help="after which it ends by itself; without it never")
        off = actions.add_parser("off", help="end a switch")
        off.add_argument("id", type=uuid.UUID)
        actions.add_parser("list", help="all that are on: id, tenant, what, until, by whom, why")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints an id, nothing, or a line for each switch."""
        try:
            with as_operator():
                getattr(self, f"_{options['action']}")(options)
        except Refused as refused:
            raise CommandError(refused.detail) from None

    def _on(self, options: dict[str, Any]) -> None:
        tenant = None
        if options["tenant"]:
            tenant = Tenant.objects.filter(slug=options["tenant"]).first()
            if tenant is None:
                raise CommandError(f"there is no tenant {options['tenant']!r}")
        until, hours = None, options["hours"]
        if hours is not None:
            if not 0 < hours <= 24 * 366:
                raise CommandError("--hours must be more than 0 and at most a year")
            until = datetime.now(UTC) + timedelta(hours=hours)
        target = options["target"] or (tenant.slug if tenant and options["kind"] == KillSwitch.Kind.TENANT else "")
        wanted = NewSwitch(options["kind"], target, options["reason"], until)
        self.stdout.write(str(changes.put_on(tenant.pk if tenant else None, wanted, by_operator=True).pk))

    def _off(self, options: dict[str, Any]) -> None:
        changes.end_any(options["id"])

    def _list(self, options: dict[str, Any]) -> None:
        for each in (
            KillSwitch.objects.filter(changes.are_on()).select_related("tenant", "set_by").order_by("created_at")
        ):
            where = each.tenant.slug if each.tenant else "all tenants"
            until = f"until {each.until:%Y-%m-%d %H:%M} UTC" if each.until else "until ended"
            who = "operator" if each.by_operator else each.set_by.username if each.set_by else "an owner"
            self.stdout.write("\t".join([str(each.pk), where, str(each), until, who, each.reason]))
