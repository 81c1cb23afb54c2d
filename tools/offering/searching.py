"""Finds tools by words, in the names, titles and descriptions of those that the caller may use.

The time grows with the text that is searched, and with nothing else. Nothing is asked of a service.
"""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from tools.gates.policy import Policy
from tools.interface import Tool

MOST_WORDS = 16
MOST = 20
# Of an answer with all parameters in it; what is told to a model of one call has a limit of its own above it.
MOST_BYTES = 10_000
_MOST_DESCRIPTION = 300
_WORDS = re.compile(r"[^\W_]+")
# Points of a word, by where it is found.
_WORD_OF_NAME, _IN_NAME, _IN_TITLE, _IN_DESCRIPTION = 8, 4, 3, 1


def search(tools: Iterable[Tool], policy: Policy, query: str, limit: int) -> dict[str, Any]:
    """`{"tools": [{"name", "description", "tier", "parameters"?}], "more": n}`, the best first."""
    words = list(dict.fromkeys(_WORDS.findall(query.casefold())))
    # "of" and "a" are in every description.
    wanted = ([word for word in words if len(word) > 2] or words)[:MOST_WORDS]
    exact = query.strip()
    scored = [(_score(tool, wanted, exact), tool) for tool in tools]
    found = sorted(((score, tool) for score, tool in scored if score), key=lambda each: (-each[0], each[1].name))
    shown: list[dict[str, Any]] = []
    room = MOST_BYTES
    for _, tool in found[: min(limit, MOST)]:
        one: dict[str, Any] = {"name": tool.name, "description": tool.description, "tier": policy.tier(tool).value}
        whole = one | {"parameters": tool.parameters}
        if len(orjson.dumps(whole)) <= room or not shown:
            one = whole
        else:
            one["description"] = tool.description[:_MOST_DESCRIPTION]
        room -= len(orjson.dumps(one))
        shown.append(one)
    return {"tools": shown, "more": len(found) - len(shown)}


def _score(tool: Tool, wanted: list[str], exact: str) -> int:
    if tool.name == exact or tool.name.replace(".", "__") == exact:
        return 1000
    name, title, description = (text.casefold() for text in (tool.name, getattr(tool, "title", ""), tool.description))
    parts = set(_WORDS.findall(name))
    points = 0
    for word in wanted:
        if word in parts:
            points += _WORD_OF_NAME
        elif word in name:
            points += _IN_NAME
        if word in title:
            points += _IN_TITLE
        if word in description:
            points += _IN_DESCRIPTION
    return points
