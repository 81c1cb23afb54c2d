"""The closed context that access conditions look at: what is known of a call besides its arguments."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ORIGINS = ("chat", "api", "mcp", "schedule", "native")
TIERS = ("read_only", "workspace", "system", "elevated")
MOST_ALERT = 3
# Conditions are checked against it: a name that is not here is refused when a condition is made.
CONTEXT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "date": {"type": "string", "format": "date"},
        "hour": {"type": "integer", "minimum": 0, "maximum": 23},
        "minute": {"type": "integer", "minimum": 0, "maximum": 59},
        "weekday": {"enum": list(WEEKDAYS)},
        "time_zone": {"type": "string"},
        "agent": {"type": "string", "description": "The agent's slug; empty for a call without an agent."},
        "origin": {"enum": list(ORIGINS)},
        "role": {"type": "string"},
        "tool": {"type": "string"},
        "tier": {"enum": list(TIERS)},
        "alert_level": {"type": "integer", "minimum": 0, "maximum": MOST_ALERT},
    },
    "additionalProperties": False,
}

_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
# What matches names by pattern, or counts them, may mean args.
_VAGUE = (
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "const", "enum"),
    *("additionalProperties", "dependentRequired"),
)


def at(moment: datetime, time_zone: str) -> dict[str, Any]:
    """The facts of a moment, in a time zone; raises ZoneInfoNotFoundError or ValueError for one that is none."""
    local = moment.astimezone(ZoneInfo(time_zone))
    return {
        "date": local.date().isoformat(),
        "hour": local.hour,
        "minute": local.minute,
        "weekday": WEEKDAYS[local.weekday()],
        "time_zone": time_zone,
    }


def looks_at_arguments(condition: Any) -> bool:
    """Whether a condition says anything of `args`, at its top or below a keyword that looks at the same value."""
    if isinstance(condition, list):
        return any(map(looks_at_arguments, condition))
    if not isinstance(condition, dict):
        return False
    named = [*condition.get("properties", {}), *condition.get("required", ()), *condition.get("dependentSchemas", {})]
    below = [condition[name] for name in _SAME_VALUE if name in condition]
    return "args" in named or any(name in condition for name in _VAGUE) or any(map(looks_at_arguments, below))
