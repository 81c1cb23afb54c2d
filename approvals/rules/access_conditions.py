"""Access conditions: what owners do with them, and how they and the alert level reach a member's rights.

A condition lets calls through while it is met, so it is held to what an approving rule's condition is held to.
"""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import router, transaction

from approvals.errors import InvalidRule, NoSuchRule
from approvals.models import AccessCondition, AlertLevel
from approvals.rules import agents, conditions
from approvals.rules.conditions import InvalidCondition
from approvals.rules.evaluation import EVERY_TOOL
from services import queries
from tenants.people import raising
from tenants.people.changes import Kind, Said, record
from tools.gates.checks.context import CONTEXT, MOST_ALERT
from tools.registry import registry

# Every turn of every member asks those that are enabled.
MOST_ENABLED = 50
MAX_NAME, MAX_REASON = 200, 500
CHANGEABLE = ("name", "condition", "time_zone", "enabled")


def _lets_more_through(before: Said | None, after: Said | None) -> bool:
    """A condition that held is none any more, or is another one, which may be met where the old one was not."""
    if not raising.is_on(before) or before is None:
        return False
    fields = ("condition", "time_zone")
    return not raising.is_on(after) or any(after and before.values[each] != after.values[each] for each in fields)


def _calms(before: Said | None, after: Said | None) -> bool:
    """A lower level: conditions that ask for it are met again."""
    levels = [each.values["level"] if each else 0 for each in (before, after)]
    return bool(levels[1] < levels[0])


CONDITION = Kind(
    target="access_condition",
    name="name",
    fields=("tool_name", "agent", "condition", "time_zone", "enabled", "version"),
    raises=_lets_more_through,
)
ALERT = Kind(target="alert_level", name="", id="tenant_id", fields=("level", "reason"), raises=_calms)
# Columns beside those of tools.gates.policy.
COLUMNS = """
    (SELECT jsonb_agg(jsonb_build_array(c.id, c.name, c.tool_name, c.agent, c.condition, c.time_zone, c.version)
            ORDER BY c.created_at, c.id)
        FROM access_conditions c WHERE c.tenant_id = m.tenant_id AND c.enabled) AS access_conditions,
    (SELECT l.level FROM alert_levels l WHERE l.tenant_id = m.tenant_id) AS alert_level"""


@dataclass(frozen=True, slots=True)
class Condition:
    """See `tools.gates.tenant_rules.Condition`."""

    id: str
    name: str
    tool_name: str
    agent: str
    condition: dict[str, Any]
    time_zone: str
    version: int

    def concerns(self, tool_name: str, agent: str) -> bool:
        """By the tool's name, its service's, or any; and by the agent, if it is about one."""
        service, dot, _ = tool_name.partition(".")
        names = (EVERY_TOOL, tool_name, f"{service}.*") if dot else (EVERY_TOOL, tool_name)
        return self.tool_name in names and self.agent in ("", agent)


def from_row(row: dict[str, Any] | None) -> dict[str, Any]:
    """`conditions` and `alert_level` of a policy, out of a row that holds COLUMNS."""
    found = (row and row["access_conditions"]) or ()
    return {"conditions": tuple(Condition(*each) for each in found), "alert_level": (row and row["alert_level"]) or 0}


def read(tenant_id: uuid.UUID, given: dict[str, Any]) -> AccessCondition:
    """A condition that is checked, and not saved; raises InvalidRule."""
    made = AccessCondition(
        tenant_id=tenant_id,
        name=_name(given.get("name")),
        tool_name=_tool(tenant_id, given.get("tool")),
        agent=_agent(tenant_id, given.get("agent") or ""),
        time_zone=_zone(given.get("time_zone", "UTC")),
        condition=given.get("condition"),
        enabled=given.get("enabled", True),
    )
    check(made)
    return made


def add(tenant_id: uuid.UUID, given: dict[str, Any]) -> AccessCondition:
    """Save a condition, in force from now on; raises InvalidRule."""
    made = read(tenant_id, given)
    with transaction.atomic(using=router.db_for_write(AccessCondition)):
        _require_room(tenant_id, made.enabled)
        made.save(force_insert=True)
        record(None, CONDITION.of(made))
    return made


def change(tenant_id: uuid.UUID, condition_id: uuid.UUID, given: dict[str, Any]) -> AccessCondition:
    """Change what CHANGEABLE names; raises NoSuchRule, InvalidRule."""
    with transaction.atomic(using=router.db_for_write(AccessCondition)):
        found = _found(tenant_id, condition_id)
        before, was_enabled = CONDITION.of(found), found.enabled
        for name, value in given.items():
            if name not in CHANGEABLE:
                raise InvalidRule(f"{name} cannot be changed: remove this condition and make another one.", name)
            checked = _name(value) if name == "name" else _zone(value) if name == "time_zone" else value
            setattr(found, name, checked)
        check(found)
        _require_room(tenant_id, found.enabled and not was_enabled)
        found.version += 1
        found.updated_at = datetime.now(UTC)
        found.save(update_fields=[*given, "version", "updated_at"])
        record(before, CONDITION.of(found))
    return found


def remove(tenant_id: uuid.UUID, condition_id: uuid.UUID) -> None:
    """What it demanded is demanded no more; raises NoSuchRule."""
    with transaction.atomic(using=router.db_for_write(AccessCondition)):
        found = _found(tenant_id, condition_id)
        record(CONDITION.of(found), None)
        found.delete()


def check(made: AccessCondition) -> None:
    """Raise InvalidRule for a condition that does not say what its author can have meant."""
    parameters = {
        "type": "object",
        "properties": {"args": _parameters(made), "context": CONTEXT},
        "additionalProperties": False,
    }
    try:
        conditions.check(made.condition, approves=True, parameters=parameters)
    except InvalidCondition as error:
        raise InvalidRule(f"The condition cannot be used: {error}.", "condition") from None


def alert(tenant_id: uuid.UUID, level: Any, reason: Any) -> AlertLevel:
    """Say how alarmed the tenant is; raises InvalidRule."""
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= MOST_ALERT:
        raise InvalidRule(f"level must be a whole number from 0 to {MOST_ALERT}.", "level")
    if not isinstance(reason, str) or len(reason) > MAX_REASON or not (reason == "" or reason.isprintable()):
        raise InvalidRule(f"reason must be at most {MAX_REASON} printable characters.", "reason")
    with transaction.atomic(using=router.db_for_write(AlertLevel)):
        found = AlertLevel.objects.select_for_update().filter(tenant_id=tenant_id).first()
        before = ALERT.of(found) if found is not None else None
        values = {"level": level, "reason": reason, "updated_at": datetime.now(UTC)}
        made, _ = AlertLevel.objects.update_or_create(tenant_id=tenant_id, defaults=values)
        record(before, ALERT.of(made))
    return made


# --- what is asked of a condition ------------------------------------------------------------------------------------
def _found(tenant_id: uuid.UUID, condition_id: uuid.UUID) -> AccessCondition:
    found = AccessCondition.objects.select_for_update().filter(tenant_id=tenant_id, id=condition_id).first()
    if found is None:
        raise NoSuchRule(condition_id)
    return found


def _name(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable() or value.isspace():
        raise InvalidRule(f"name must be 1 to {MAX_NAME} printable characters.", "name")
    return value


def _zone(value: Any) -> str:
    try:
        if not isinstance(value, str) or len(value) > 64:
            raise ValueError
        ZoneInfo(value)
    except (ValueError, KeyError, OSError):
        raise InvalidRule("time_zone must be a name such as Europe/Berlin, or UTC.", "time_zone") from None
    return value


def _tool(tenant_id: uuid.UUID, name: Any) -> str:
    """A name that a tool has, of a service, or of every tool."""
    known = (
        isinstance(name, str)
        and "\x00" not in name
        and (
            name == EVERY_TOOL
            or name in registry().names(listed=True)
            or queries.tool(tenant_id, name) is not None
            or any(name == f"{each.partition('.')[0]}.*" for each in queries.names())
        )
    )
    if not known:
        raise InvalidRule(f"There is no tool {str(name)[:100]!a}.", "tool")
    return str(name)


def _parameters(made: AccessCondition) -> Any:
    tool = registry().get(made.tool_name) or queries.tool(made.tenant_id, made.tool_name)
    return tool.parameters if tool is not None else {}


def _agent(tenant_id: uuid.UUID, slug: Any) -> str:
    if not isinstance(slug, str) or (slug and ("\x00" in slug or not agents.queries().exists(tenant_id, slug))):
        raise InvalidRule(f"The tenant has no agent {str(slug)[:100]!r}.", "agent")
    return slug


def _require_room(tenant_id: uuid.UUID, one_more: bool) -> None:
    if one_more and AccessCondition.objects.filter(tenant_id=tenant_id, enabled=True).count() >= MOST_ENABLED:
        raise InvalidRule(f"{MOST_ENABLED} conditions are enabled, and no more can be; switch one off.")
