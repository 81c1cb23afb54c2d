"""What owners do with budgets: set one, change its limit, end it. Each runs in its caller's transaction and scope."""

import uuid
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import IntegrityError, router, transaction
from django.db.models import Q, QuerySet

from gateway.budgets.errors import BudgetExists, InvalidBudget, NoSuchBudget, amount_of
from gateway.budgets.models import Budget
from tenants.models import ApiKey, Membership
from tenants.people import raising
from tenants.people.changes import Kind, Said, record
from tenants.people.principal import Principal

MOST = Decimal(10) ** 12
# A tenant has no more budgets: each is asked before each turn that it applies to.
MAX_BUDGETS = 1000
_KIND = Kind(target="budget", name="", fields=("unit", "window"), raises=raising.limit_raised("limit"))
_SCOPES = ("tenant", "user", "agent", "key")


@dataclass(frozen=True, slots=True)
class NewBudget:
    """A budget that somebody wants, checked as far as that needs no database; `whose` and `of` name its scope."""

    whose: str
    of: uuid.UUID
    unit: str
    window: str
    limit: Decimal

    @classmethod
    def read(cls, given: dict[str, Any], tenant_id: uuid.UUID) -> "NewBudget":
        """Out of {"scope"?, "unit", "window", "limit"}; raises InvalidBudget."""
        for name in given:
            if name not in ("scope", "unit", "window", "limit"):
                raise InvalidBudget(f"{name:.80} is not known here.", name[:80])
        for name, choices in (("unit", Budget.Unit.values), ("window", Budget.Window.values)):
            if given.get(name) not in choices:
                raise InvalidBudget(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}.", name)
        whose, of = _scope(given.get("scope"), tenant_id)
        return cls(whose, of, given["unit"], given["window"], limit_of(given.get("limit"), given["unit"]))


def limit_of(given: Any, unit: str) -> Decimal:
    """A limit as it is stored; raises InvalidBudget."""
    try:
        limit = Decimal(str(given)) if isinstance(given, str | int | float | Decimal) else Decimal("nan")
        exact = limit.is_finite() and limit == limit.quantize(Decimal("0.000001")) if limit <= MOST else True
    except InvalidOperation:
        limit, exact = Decimal("nan"), False
    if isinstance(given, bool) or not limit.is_finite() or limit < 0:
        raise InvalidBudget("limit must be a number, 0 or more.", "limit")
    if limit > MOST:
        raise InvalidBudget(f"limit may be up to {MOST:,f}.", "limit")
    if not exact or (unit != "usd" and limit != limit.to_integral_value()):
        places = "at most six decimal places" if unit == "usd" else "no decimal places"
        raise InvalidBudget(f"limit may have {places}.", "limit")
    return limit


def _scope(given: Any, tenant_id: uuid.UUID) -> tuple[str, uuid.UUID]:
    if given is None:
        return "tenant", tenant_id
    if not isinstance(given, dict) or len(given) != 1 or next(iter(given)) not in _SCOPES:
        raise InvalidBudget('scope must be one of {"tenant": id}, {"user": id}, {"agent": id}, {"key": id}.', "scope")
    [(whose, named)] = given.items()
    try:
        return whose, uuid.UUID(str(named))
    except ValueError:
        raise InvalidBudget(f"scope.{whose} must be an id.", "scope") from None


def add(tenant_id: uuid.UUID, wanted: NewBudget) -> Budget:
    """Set a budget; raises InvalidBudget and BudgetExists."""
    _refuse_others(tenant_id, wanted)
    if Budget.objects.filter(tenant_id=tenant_id).count() >= MAX_BUDGETS:
        raise InvalidBudget(f"A tenant can have {MAX_BUDGETS:,} budgets, and has them. Remove one first.")
    whose = {} if wanted.whose == "tenant" else {f"{wanted.whose}_id": wanted.of}
    budget = Budget(tenant_id=tenant_id, unit=wanted.unit, window=wanted.window, limit=wanted.limit, **whose)
    try:
        with transaction.atomic(using=router.db_for_write(Budget)):
            budget.save(force_insert=True)
    except IntegrityError:
        raise BudgetExists from None
    record(None, said(budget))
    return budget


def change(budget: Budget, limit: Any) -> Budget:
    """Change how much it allows; what is spent stays. Raises InvalidBudget."""
    before = said(budget)
    budget.limit = limit_of(limit, budget.unit)
    budget.save(update_fields=["limit"])
    record(before, said(budget))
    return budget


def remove(budget: Budget) -> None:
    """End it."""
    before = said(budget)
    budget.delete()
    record(before, None)


def found(principal: Principal, budget_id: Any, *, lock: bool = False) -> Budget:
    """One that the caller sees; raises NoSuchBudget."""
    queryset = seen_by(principal)
    row = (queryset.select_for_update() if lock else queryset).filter(pk=budget_id).first()
    if row is None:
        raise NoSuchBudget(budget_id)
    return row


def seen_by(principal: Principal) -> QuerySet[Budget]:
    """Owners and auditors see the tenant's budgets, others those of themselves and of their own keys."""
    budgets = Budget.objects.filter(tenant_id=principal.tenant_id)
    if principal.sees_whole_history:
        return budgets
    return budgets.filter(Q(user_id=principal.user_id) | Q(key__user_id=principal.user_id))


def said(budget: Budget) -> Said:
    """What the record of changes says of it."""
    whose, of = budget.scope
    limit = f"{budget.limit.normalize():f}"
    return _KIND.of(budget, limit=limit, scope={whose: str(of)})


def _refuse_others(tenant_id: uuid.UUID, wanted: NewBudget) -> None:
    """Raise InvalidBudget for a scope that is nothing of the tenant's."""
    agents = Budget._meta.get_field("agent").related_model
    known = {
        "tenant": lambda: wanted.of == tenant_id,
        "user": lambda: Membership.objects.filter(tenant_id=tenant_id, user_id=wanted.of).exists(),
        "agent": lambda: agents._default_manager.filter(tenant_id=tenant_id, pk=wanted.of).exists(),
        "key": lambda: ApiKey.objects.filter(tenant_id=tenant_id, pk=wanted.of).exists(),
    }
    if not known[wanted.whose]():
        raise InvalidBudget(f"Your tenant has no {wanted.whose} {wanted.of}.", "scope")


def in_words(budget: Budget) -> str:
    """ "US$50.00 in a month"."""
    windows = {"day": "in a day", "month": "in a month", "total": "in all"}
    return f"{amount_of(budget.unit, budget.limit)} {windows[budget.window]}"
