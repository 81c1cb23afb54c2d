"""The setting of one tool: what can be said of it, and saying it."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connections, router

from tenants.people.changes import record
from tools.gates import rate_counter
from tools.gates.policy import Setting
from tools.interface import Tier, Tool
from tools.models import ToolSetting
from tools.settings.errors import InvalidToolSetting
from tools.settings.recorded import SETTING

MOST_APPROVALS = 20
# How long a call may wait for its approvals, in seconds.
SHORTEST_WAIT, LONGEST_WAIT = 60, 31_536_000
_LONGEST_RATE = 16
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('tool setting ' || %s, 0))"


def of(tenant_id: uuid.UUID, name: str, *, lock: bool = False) -> ToolSetting | None:
    """What the tenant says of a tool, if anything."""
    rows = ToolSetting.objects.select_for_update() if lock else ToolSetting.objects.all()
    return rows.filter(tenant_id=tenant_id, tool_name=name).first()


def read(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are meant; null stands for the tool's own. Raises InvalidToolSetting.

    `given` may have `enabled`, `tier`, `rate` ("10/m"), `approvals_needed` and `approval_expires` (seconds).
    """
    found: dict[str, Any] = {}
    own = Setting()
    for name, value in given.items():
        if name == "enabled":
            if not isinstance(value, bool):
                raise InvalidToolSetting("enabled must be true or false.", name)
            found[name] = value
        elif name == "tier":
            found[name] = _tier(tool, value)
        elif name == "rate":
            found[name] = _rate(value)
        elif name == "approvals_needed":
            found[name] = own.approvals_needed if value is None else _number(name, value, 1, MOST_APPROVALS)
        elif name == "approval_expires":
            seconds = own.approval_seconds if value is None else _number(name, value, SHORTEST_WAIT, LONGEST_WAIT)
            found["approval_seconds"] = seconds
        else:
            raise InvalidToolSetting(f"{name:.80} is not known here, or cannot be changed.", name[:80])
    return found


def save(tenant_id: uuid.UUID, name: str, said: Mapping[str, Any]) -> ToolSetting | None:
    """Say it of the tool of that name, in the caller's transaction; nothing is stored where all is the tool's own."""
    row = of(tenant_id, name, lock=True)
    if row is None:
        # Nothing is there to be locked: who says something first keeps others waiting here.
        with connections[router.db_for_write(ToolSetting)].cursor() as cursor:
            cursor.execute(_ALONE, [f"{tenant_id} {name}"])
        row = of(tenant_id, name, lock=True)
    before = None if row is None else SETTING.of(row)
    fresh = row or ToolSetting(tenant_id=tenant_id, tool_name=name)
    for column, value in said.items():
        setattr(fresh, column, value)
    if not any(getattr(fresh, column) != value for column, value in Setting()._asdict().items()):
        if row is not None:
            record(before, None)
            row.delete()
        return None
    fresh.save()
    record(before, SETTING.of(fresh))
    return fresh


def _tier(tool: Tool, value: Any) -> str:
    if value in (None, ""):
        return ""
    if value not in list(Tier):
        raise InvalidToolSetting(f"tier must be one of {', '.join(Tier)}; null: the tool's own.", "tier")
    check_floor(tool.name, Tier(value))
    if Tier(value).rank < tool.tier.rank:
        raise InvalidToolSetting(
            f"{tool.name} declares {tool.tier}. A tier can be raised, and nobody lowers it below that.", "tier"
        )
    # Of a tool whose calls can have a lower tier, it says that none has.
    return "" if value == tool.tier and tool.least_tier is None else str(value)


def check_floor(name: str, tier: Tier) -> None:
    """Raises InvalidToolSetting for a tier below what the operator says of the tool."""
    least = settings.TOOLGATE_TOOL_TIERS.get(name)
    if least and tier.rank < Tier(least).rank:
        raise InvalidToolSetting(
            f"The operator of this Toolgate gives {name} the tier {least} at least. Only the operator can change that "
            "(TOOLGATE_TOOL_TIERS).",
            "tier",
        )


def _rate(value: Any) -> str:
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_RATE or not rate_counter.readable(value):
        raise InvalidToolSetting(
            'rate must be calls per second, minute, hour or day, such as "10/m"; null: the tool\'s own.', "rate"
        )
    return value


def _number(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        unit = " seconds" if name == "approval_expires" else ""
        raise InvalidToolSetting(f"{name} must be a whole number from {least:,} to {most:,}{unit}.", name)
    return value
