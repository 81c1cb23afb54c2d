"""What may be said of an agent: each field as it is stored, or why it cannot be."""

import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import router

from gateway.budgets import bounds
from gateway.budgets.changes import MOST as MOST_USD
from gateway.budgets.changes import limit_of
from gateway.budgets.errors import InvalidBudget
from gateway.models import Agent
from gateway.providers.registry import Providers, UnknownModel
from gateway.providers.routing import resolution
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.runs.errors import InvalidAgent
from services import queries
from tools.gates.policy import SPREAD
from tools.interface import Tier
from tools.invocation.naming import FUNCTION
from tools.registry import registry

MAX_NAME = 200
MAX_INSTRUCTIONS = 64 * 1024
MAX_TOOLS = 2000
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_MODEL = re.compile(r"[^\s/]+/\S+")
_TOOL = re.compile(r"[a-z0-9_.-]+(\.\*)?", re.IGNORECASE)
_LISTS = ("tools", "pinned_tools")
# The least and the most of each number.
NUMBERS = {
    "max_turns": (1, 200),
    "max_seconds": (1, 3600),
    "max_run_tokens": (bounds.LEAST_TURN, 999_999_999),
    "tool_seconds": (1, 300),
    "max_result_bytes": (256, 1024 * 1024),
    "max_offered_tools": (0, 2000),
}
# Numbers that may be left empty.
OPTIONAL = frozenset({"max_run_tokens", "max_offered_tools"})
# An amount of US dollars, which may be left empty.
MONEY = "max_run_usd"
# What is usual, and the other.
CHOICES = {"on_refused_approval": ("tell", "halt"), "on_disconnect": ("continue", "cancel")}


def slug(given: Any) -> str:
    """A new agent's slug; raises InvalidAgent."""
    if not isinstance(given, str) or not _SLUG.fullmatch(given):
        raise InvalidAgent("slug must be up to 50 of a-z, 0-9, - and _, and begin with a letter or digit.", "slug")
    return given


def read(tenant_id: uuid.UUID, given: Mapping[str, Any], agent: Agent | None = None) -> dict[str, Any]:
    """The fields that are given, as they are stored. What `agent` says already is not checked again: tools go away.

    Raises InvalidAgent for a field that is not known, or cannot be that.
    """
    found = {}
    for name, value in given.items():
        if name not in _READ and name not in _LISTS:
            raise InvalidAgent(f"{name:.80} is not known here, or cannot be changed.", name[:80])
        earlier = getattr(agent, name) if agent else None
        if agent is not None and value == earlier and type(value) is type(earlier):
            found[name] = value
        elif name in _LISTS:
            found[name] = _tools(tenant_id, value, name, earlier)
        else:
            found[name] = _READ[name](value, name)
            if name == "model" and found[name]:
                _check_model(tenant_id, found[name])
    return found


def _check_model(tenant_id: uuid.UUID, model: str) -> None:
    """Raises InvalidAgent for a model that the tenant cannot use at the moment.

    Operators are not within the tenant, whose providers nobody else reads: a run is refused then.
    """
    if router.db_for_read(Agent) != "default":
        return
    try:
        resolution.read_now(tenant_id).resolve(model, Providers.from_settings(settings))
    except UnknownModel as unknown:
        raise InvalidAgent(unknown.message, "model") from None
    except ModelNotAllowed as refused:
        raise InvalidAgent(refused.detail, "model") from None


def _text(value: Any, at: str, most: int) -> str:
    if not isinstance(value, str):
        raise InvalidAgent(f"{at} must be text.", at)
    if len(value) > most:
        raise InvalidAgent(f"{at} may have up to {most:,} characters.", at)
    if "\x00" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise InvalidAgent(f"{at} has characters that cannot be stored.", at)
    return value


def _name(value: Any, at: str) -> str:
    text = _text(value, at, MAX_NAME).strip()
    if not text or not text.isprintable():
        raise InvalidAgent(f"{at} must be one line of text.", at)
    return text


def _instructions(value: Any, at: str) -> str:
    return _text(value, at, MAX_INSTRUCTIONS)


def _model(value: Any, at: str) -> str:
    text = _text("" if value is None else value, at, 200)
    if text and not _MODEL.fullmatch(text):
        raise InvalidAgent('model must be named "provider/model"; empty: the default model.', at)
    return text


def _boolean(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidAgent(f"{at} must be true or false.", at)
    return value


def _tier(value: Any, at: str) -> str:
    if value in (None, ""):
        return ""
    if value not in list(Tier):
        raise InvalidAgent(f"{at} must be one of {', '.join(Tier)}; null: any tier.", at)
    return str(value)


def _choice(value: Any, at: str) -> str:
    if not isinstance(value, str) or value not in CHOICES[at]:
        raise InvalidAgent(f"{at} must be one of {', '.join(CHOICES[at])}.", at)
    return value


def _number(value: Any, at: str) -> int:
    least, most = NUMBERS[at]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidAgent(f"{at} must be a whole number from {least:,} to {most:,}.", at)
    return value


def _optional_number(value: Any, at: str) -> int | None:
    return None if value is None else _number(value, at)


def _money(value: Any, at: str) -> Decimal | None:
    if value is None:
        return None
    try:
        return limit_of(value, "usd")
    except InvalidBudget:
        raise InvalidAgent(
            f"{at} must be an amount of US dollars from 0 to {MOST_USD:,f}, with at most six decimal places.", at
        ) from None


def _tools(tenant_id: uuid.UUID, value: Any, at: str, earlier: Any) -> Any:
    """ "all", or a list of names, `service.*`, agents' slugs and "..."; each of them is a tool's or an agent's now, or
    was in the list already."""
    if at == "tools" and value == "all":
        return value
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        every = '"all", or ' if at == "tools" else ""
        raise InvalidAgent(f"{at} must be {every}a list of tools' names.", at)
    names = list(dict.fromkeys(value))
    if len(names) > MAX_TOOLS:
        raise InvalidAgent(f"{at} may name up to {MAX_TOOLS:,} tools.", at)
    known = set(registry().names()) | set(queries.names(tenant_id))
    known |= {f"{name.partition('.')[0]}.*" for name in known if "." in name}
    if at == "tools":
        # What its calls of subagent may name.
        agents = set(Agent.objects.filter(tenant_id=tenant_id, archived_at=None).values_list("slug", flat=True))
        _refuse_taken(agents & set(names), known)
        known |= agents
    known |= set(earlier if isinstance(earlier, list) else ()) | ({SPREAD} if at == "tools" else set())
    for name in names:
        if name not in known:
            how = "" if _TOOL.fullmatch(name) else " Write a name, service.*, or ... for the tenant's default tools."
            raise InvalidAgent(f"There is no tool {name[:80]!a} in this tenant.{how}", at)
    return names


def _refuse_taken(slugs: set[str], known: set[str]) -> None:
    """Raises InvalidAgent for an agent whose function would have the name of a tool."""
    for slug in sorted(slugs):
        if f"{FUNCTION}{slug}" in known:
            raise InvalidAgent(
                f"The agent {slug} would be offered as {FUNCTION}{slug}, which is a tool's name. "
                "Give the task to an agent with another slug.",
                "tools",
            )


_READ: dict[str, Callable[[Any, str], Any]] = {
    "name": _name,
    "instructions": _instructions,
    "model": _model,
    "is_default": _boolean,
    "max_tier": _tier,
    "on_refused_approval": _choice,
    "on_disconnect": _choice,
    MONEY: _money,
    **{name: _optional_number if name in OPTIONAL else _number for name in NUMBERS},
}
