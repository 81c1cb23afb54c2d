"""What an owner typed about an agent, as the body that REST takes; and an agent as the form shows it."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from gateway.models import Agent
from gateway.runs.agents import tool_settings, versions
from gateway.runs.agents.fields import CHOICES, MONEY, NUMBERS, OPTIONAL
from gateway.runs.errors import InvalidAgent
from services.web.forms import TIER_WORDS
from tools.gates.policy import SPREAD

NUMBER_WORDS = {
    "max_turns": ("Turns of a run", "Each answer of the model is one"),
    "max_seconds": ("Seconds of a run", "Waiting for humans does not count"),
    "max_run_tokens": ("Tokens of a run", "Those of the runs that it begins included; empty: no limit"),
    "tool_seconds": ("Seconds of a call", "A tool’s own limit may be shorter"),
    "max_result_bytes": ("Bytes of a tool’s answer", "What its model is shown of it"),
    "max_offered_tools": ("Tools shown at once", "With more, it searches them; empty: the operator’s number"),
}
MONEY_WORDS = ("US dollars of a run", "Those of the runs that it begins included; empty: no limit")


def given(post: QueryDict) -> dict[str, Any]:
    """The fields of a form; raises InvalidAgent for a number that is none. The default agent's form does not say that
    it is."""
    said: dict[str, Any] = {name: post.get(name, "") for name in ("name", "model", "max_tier")}
    # Browsers send line ends in their own way.
    said["instructions"] = post.get("instructions", "").replace("\r\n", "\n")
    said["tools"] = "all" if post.get("reach") == "all" else post.getlist("tool")
    said["pinned_tools"] = post.get("pinned_tools", "").split()
    said |= {name: choices[name in post] for name, choices in CHOICES.items()}
    said |= {name: _number(post, name) for name in NUMBERS}
    said[MONEY] = post.get(MONEY, "").strip() or None
    return said | ({"is_default": True} if "is_default" in post else {})


def version(post: QueryDict) -> int | None:
    """The version that a form is based on."""
    text = post.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def shown(said: Mapping[str, Any], agent: Agent | None) -> dict[str, Any]:
    """What the form's template needs of the fields, stored or typed."""
    tools = said.get("tools")
    chosen = tools if isinstance(tools, list) else []
    return {
        "fields": dict(said),
        "reach": "all" if tools == "all" else "list",
        "chosen": set(chosen),
        "spread": SPREAD in chosen,
        "pinned": " ".join(said.get("pinned_tools") or []),
        "numbers": [_shown(name, said.get(name), agent) for name in NUMBER_WORDS],
        "money": (MONEY, *MONEY_WORDS, said.get(MONEY)),
        "tiers": [(str(tier), words) for tier, words in TIER_WORDS.items()],
        "halts": said.get("on_refused_approval") == "halt",
        "cancels": said.get("on_disconnect") == "cancel",
        "agent": agent,
    }


def _shown(name: str, value: Any, agent: Agent | None) -> tuple[Any, ...]:
    """A number's name, label, hint, value, least, most, and whether it may be empty.

    One that is stored and would not be taken today can stay.
    """
    (label, hint), (least, most) = NUMBER_WORDS[name], NUMBERS[name]
    stored = getattr(agent, name) if agent is not None else None
    if stored is not None and stored < least:
        hint = f"{hint}. {stored:,} can stay, and is too few for any turn: at least {least:,} are of use"
        least = stored
    return name, label, hint, value, least, most, name in OPTIONAL


def choices(tenant_id: Any, chosen: set[str]) -> list[tuple[str, str, bool]]:
    """The tools to choose from, (name, about it, whether it is switched on): the chosen ones first, then services, and
    last what went away."""
    found: list[tuple[str, str, bool]] = []
    services: dict[str, int] = {}
    for each in tool_settings.of_tenant(tenant_id):
        if each.service:
            services[each.service] = services.get(each.service, 0) + 1
        found.append((each.tool.name, each.tool.description, each.enabled))
    whole = [
        (f"{slug}.*", f"All tools of {slug}: {count} now, and later ones", True) for slug, count in services.items()
    ]
    known = {name for name, _, _ in (*whole, *found)} | {SPREAD}
    gone = [(name, "The tenant does not have it any more", False) for name in sorted(chosen - known)]
    return sorted([*whole, *found, *gone], key=lambda each: each[0] not in chosen)


def values(agent: Agent) -> dict[str, Any]:
    """The fields of a stored agent."""
    return versions.values(agent)


def _number(post: QueryDict, name: str) -> int | None:
    text = post.get(name, "").strip()
    if not text and name in OPTIONAL:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        least, most = NUMBERS[name]
        raise InvalidAgent(f"{NUMBER_WORDS[name][0]}: a whole number from {least:,} to {most:,}.", name)
    return int(text)
