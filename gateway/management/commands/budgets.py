"""`manage.py budgets create|list|delete`: the budgets of any tenant."""

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.budgets import amounts, changes
from gateway.budgets.changes import NewBudget
from gateway.budgets.models import Budget
from tenants.errors import Refused
from tenants.management.accounts import as_operator
from tenants.models import Tenant


class Command(BaseCommand):
    """Set, list or end the budgets of a tenant."""

    help = __doc__ or ""

    def add_arguments(self, parser: Any) -> None:
        """What to do, and the tenant's slug."""
        does = parser.add_subparsers(dest="does", required=True)
        create = does.add_parser("create", help="set a budget, and print its id")
        create.add_argument("tenant")
        create.add_argument("limit")
        create.add_argument("--unit", choices=Budget.Unit.values, default="usd")
        create.add_argument("--window", choices=Budget.Window.values, default="month")
        for name in ("user", "agent", "key"):
            create.add_argument(f"--{name}", metavar="ID", help=f"of this {name}, not of the whole tenant")
        does.add_parser("list", help="id, scope, limit, spent and reserved of each").add_argument("tenant")
        delete = does.add_parser("delete", help="end one")
        delete.add_argument("tenant")
        delete.add_argument("id", type=uuid.UUID)

    def handle(self, *args: Any, does: str, tenant: str, **options: Any) -> None:
        """A refusal is one clear line."""
        with as_operator():
            found = Tenant.objects.filter(slug=tenant).first()
            if found is None:
                raise CommandError(f"there is no tenant {tenant}")
            try:
                getattr(self, f"_{does}")(found, options)
            except Refused as refused:
                raise CommandError(refused.detail) from None

    def _create(self, tenant: Tenant, options: dict[str, Any]) -> None:
        scopes = [{name: options[name]} for name in ("user", "agent", "key") if options[name]]
        if len(scopes) > 1:
            raise CommandError("a budget is of one user, agent or key")
        given = {name: options[name] for name in ("unit", "window", "limit")}
        if scopes:
            given["scope"] = scopes[0]
        self.stdout.write(str(changes.add(tenant.id, NewBudget.read(given, tenant.id)).id))

    def _list(self, tenant: Tenant, options: dict[str, Any]) -> None:
        budgets = list(Budget.objects.filter(tenant_id=tenant.id))
        held = amounts.of(budgets)
        for each in budgets:
            whose, of = each.scope
            amount = held[each.id]
            spent = f"{amount.spent.normalize():f} spent, {amount.reserved.normalize():f} reserved"
            self.stdout.write(f"{each.id}  {whose} {of}  {changes.in_words(each)}  {spent}")

    def _delete(self, tenant: Tenant, options: dict[str, Any]) -> None:
        budget = Budget.objects.filter(tenant_id=tenant.id, pk=options["id"]).first()
        if budget is None:
            raise CommandError(f"{tenant.slug} has no budget {options['id']}")
        changes.remove(budget)
