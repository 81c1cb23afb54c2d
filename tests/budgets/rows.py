"""Budgets of the tests, and what their rows say."""

import uuid
from decimal import Decimal
from typing import Any

from tests.database import rows
from tests.people import Cast


def make_budget(tenant: Cast, limit: Any, unit: str = "usd", window: str = "total", **whose: uuid.UUID) -> uuid.UUID:
    """A budget of the tenant, or of `user_id`, `agent_id` or `key_id`."""
    columns = {"id": uuid.uuid4(), "tenant_id": tenant.id, "unit": unit, "period": window, "amount": Decimal(limit)}
    columns |= whose
    names, places = ", ".join(columns), ", ".join(f"%({name})s" for name in columns)
    rows(f"INSERT INTO budgets ({names}) VALUES ({places}) RETURNING id", **columns)
    return columns["id"]  # type: ignore[return-value]


def amounts(budget_id: uuid.UUID) -> tuple[Decimal, Decimal]:
    """What is spent and reserved in the newest window; nothing before the first turn."""
    found = rows(
        "SELECT spent, reserved FROM budget_windows WHERE budget_id = %(id)s ORDER BY starts_at DESC LIMIT 1",
        id=budget_id,
    )
    return (found[0]["spent"], found[0]["reserved"]) if found else (Decimal(0), Decimal(0))


def used(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's rows of usage, in order."""
    return rows("SELECT * FROM turn_usage WHERE tenant_id = %(id)s ORDER BY id", id=tenant.id)


def reservations(tenant: Cast) -> list[dict[str, Any]]:
    """What its runs have reserved."""
    return rows("SELECT * FROM turn_reservations WHERE tenant_id = %(id)s", id=tenant.id)
