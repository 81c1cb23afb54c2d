"""Descriptors of services, version 2 (tools, feeds, skill, endpoints, auth) and version 1 (endpoints only)."""

import re
from dataclasses import dataclass, field
from typing import Any

from services.errors import InvalidService
from services.offers import definition, placing
from services.offers.definition import Definition, Effort

MAX_FEEDS = 10
MAX_ENDPOINTS = 500
MAX_SKILL = 16_384
LEAST_TTL, MOST_TTL = 1, 86_400
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_./-]{0,200}\.(md|markdown|txt)")
_KNOWN = frozenset({"version", "name", "description", "tools", "feeds", "skill", "endpoints", "auth"})


@dataclass(frozen=True, slots=True)
class Offer:
    """What a service offers, read from its descriptor or document."""

    description: str = ""
    tools: list[Definition] = field(default_factory=list)
    feeds: list[dict[str, Any]] = field(default_factory=list)
    skill: str = ""
    endpoints: list[dict[str, Any]] = field(default_factory=list)
    skill_problem: str = ""
    # What an MCP server offers beside tools; see `services.offers.mcp`.
    mcp: dict[str, Any] = field(default_factory=dict)


def read(slug: str, given: Any, at: str = "descriptor") -> Offer:
    """The offer that a descriptor makes; raises InvalidService, whose field says where."""
    if not isinstance(given, dict):
        raise InvalidService(f"{at} must be an object.", at)
    version = given.get("version", 1)
    if version not in (1, 2) or isinstance(version, bool):
        raise InvalidService(f"{at}.version must be 1 or 2.", f"{at}.version")
    for name in given:
        if name not in _KNOWN:
            raise InvalidService(f"{at}.{name:.80} is not known in a descriptor.", at)
    tools = _list(given, "tools", at, definition.MAX_TOOLS)
    if tools and version == 1:
        raise InvalidService(f'{at}.tools needs "version": 2.', f"{at}.version")
    effort = Effort()
    return Offer(
        description=definition.check_words(given.get("description"), f"{at}.description", definition.MAX_DESCRIPTION),
        tools=[_tool(slug, each, f"{at}.tools[{number}]", effort) for number, each in enumerate(tools)],
        feeds=_feeds(_list(given, "feeds", at, MAX_FEEDS), f"{at}.feeds"),
        skill=definition.check_words(given.get("skill"), f"{at}.skill", MAX_SKILL),
        endpoints=_endpoints(_list(given, "endpoints", at, MAX_ENDPOINTS), f"{at}.endpoints"),
    )


def is_path(skill: str) -> bool:
    """Whether a descriptor's skill is a file of its service, and not the guidance itself."""
    return bool(_FILE.fullmatch(skill)) and ".." not in skill


def _list(given: dict[str, Any], name: str, at: str, most: int) -> list[Any]:
    found = given.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > most:
        raise InvalidService(f"{at}.{name} must be a list of up to {most:,}.", f"{at}.{name}")
    return found


def _tool(slug: str, given: Any, at: str, effort: Effort) -> Definition:
    effort.check(at)
    if not isinstance(given, dict):
        raise InvalidService(f"{at} must be an object.", at)
    for name in given:
        if name not in definition.FIELDS:
            raise InvalidService(f"{at}.{name:.80} is not known; there are {', '.join(definition.FIELDS)}.", at)
    schema = definition.check_schema(given.get("inputSchema", {"type": "object"}), f"{at}.inputSchema")
    if given.get("outputSchema") is not None:
        definition.check_schema(given["outputSchema"], f"{at}.outputSchema")
    name = definition.check_name(slug, given.get("name"), f"{at}.name")
    definition.check_words(given.get("title"), f"{at}.title", definition.MAX_TITLE)
    definition.check_words(given.get("description"), f"{at}.description", definition.MAX_DESCRIPTION, needed=True)
    definition.check_annotations(given.get("annotations"), f"{at}.annotations")
    http = placing.read(given.get("http"), f"{at}.http", schema)
    return Definition(
        name=name,
        given={field: given[field] for field in definition.FIELDS if given.get(field) is not None},
        parameters=definition.shown_schema(
            schema, f"{at}.inputSchema", without=placing.IDENTITY, in_path=set(http.in_path), hosts=http.hosts
        ),
        http=http.as_json() | {"identity": placing.identity(http, schema)},
    )


def _feeds(given: list[Any], at: str) -> list[dict[str, Any]]:
    found = []
    for number, each in enumerate(given):
        here = f"{at}[{number}]"
        if not isinstance(each, dict) or not set(each) <= {"name", "path", "ttl", "description"}:
            raise InvalidService(f"{here} must be an object with name, path and ttl.", here)
        name = definition.check_words(each.get("name"), f"{here}.name", 64, needed=True)
        placing.check_path(each.get("path"), f"{here}.path")
        for placeholder in placing.PLACEHOLDER.findall(each["path"]):
            if placeholder not in placing.IDENTITY:
                raise InvalidService(f"{here}.path names {placeholder:.80}; a feed has no arguments.", f"{here}.path")
        found.append({"name": name, "path": each["path"], "ttl": time_to_live(each.get("ttl", 60), here)})
    if len({each["name"] for each in found}) < len(found):
        raise InvalidService(f"{at} has two feeds of the same name.", at)
    return found


def time_to_live(ttl: Any, at: str) -> int | float:
    """The seconds that a feed's answer is good for; raises InvalidService."""
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not LEAST_TTL <= ttl <= MOST_TTL:
        raise InvalidService(f"{at}.ttl must be from {LEAST_TTL} to {MOST_TTL:,} seconds.", f"{at}.ttl")
    return ttl


def _endpoints(given: list[Any], at: str) -> list[dict[str, Any]]:
    """For people only: kept as they are, within bounds."""
    for number, each in enumerate(given):
        if not isinstance(each, dict):
            raise InvalidService(f"{at}[{number}] must be an object.", at)
        definition.check_annotations(each, f"{at}[{number}]")
    return given
