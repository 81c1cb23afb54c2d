"""What an MCP server offers, out of its lists as `services.mcp.listing` has read them.

    {"revision", "about": {server, capabilities, instructions}, "tools": […], "resources": […], "templates": […],
     "prompts": […]}

A tool that cannot be used is left out with its reason, and the others are taken: an owner cannot change them.
"""

import re
from typing import Any

from audit.canonical import NotCanonical, canonical
from services.errors import InvalidService
from services.offers import definition, descriptor, marks, references, text
from services.offers.definition import Definition, Effort
from services.offers.descriptor import MAX_SKILL, Offer
from tools.schemas.schema import InvalidToolDeclaration, declare_condition

# What the hash of a tool covers; what else a server says of it (icons, `_meta`) decides nothing, and is not kept.
_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_NONE = {"type": "object"}
# Of one resource, template or prompt, in bytes of JSON.
MAX_ENTRY = 8192
_ENTRIES = {
    "resources": ("uri", "name", "title", "description", "mimeType", "size", "annotations"),
    "templates": ("uriTemplate", "name", "title", "description", "mimeType", "annotations"),
    "prompts": ("name", "title", "description", "arguments"),
}
_KEYS = {"resources": "uri", "templates": "uriTemplate", "prompts": "name"}
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def read(slug: str, document: Any) -> Offer:
    """The offer; raises InvalidService where nothing of it can be used, or two tools would have the same name."""
    lists = document if isinstance(document, dict) else {}
    tools, left_out, effort = [], [], Effort()
    given = lists.get("tools") or []
    if len(given) > definition.MAX_TOOLS:
        raise InvalidService(f"The server offers more than {definition.MAX_TOOLS:,} tools.", "url")
    for number, each in enumerate(given):
        at = f"tools[{number}]"
        effort.check(at)
        try:
            tools.append(_tool(slug, each, at))
        except InvalidService as refused:
            name = each.get("name") if isinstance(each, dict) else None
            left_out.append({"name": _printable(name), "why": refused.detail[:500]})
    if given and not tools:
        raise InvalidService(f"No tool of the server can be used. {left_out[0]['why']}", "url")
    named = [each.name for each in tools]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise InvalidService(f"Two tools of the server have the name {twice}, as it is told to providers.", "url")
    about = lists.get("about") or {}
    server = about.get("server") or {}
    skill, problem = _instructions(about.get("instructions"))
    return Offer(
        description=_words(about.get("description"), definition.MAX_DESCRIPTION),
        tools=tools,
        skill=skill,
        skill_problem=problem,
        mcp={
            "revision": _printable(lists.get("revision")),
            "server": {name: _words(server.get(name), 200) for name in ("name", "title", "version")},
            "completions": bool(about.get("completions")),
            "left_out": left_out,
            **{kind: _entries(lists.get(kind), kind, left_out) for kind in _ENTRIES},
        },
    )


def feeds(given: Any, offered: dict[str, Any]) -> list[dict[str, Any]]:
    """The feeds that an owner makes of resources, `{name, uri, ttl}` each; raises InvalidService."""
    if not isinstance(given, list) or len(given) > descriptor.MAX_FEEDS:
        raise InvalidService(f"feeds must be a list of up to {descriptor.MAX_FEEDS}.", "feeds")
    found = []
    for number, each in enumerate(given):
        at = f"feeds[{number}]"
        if not isinstance(each, dict) or not {"name", "uri"} <= set(each) <= {"name", "uri", "ttl"}:
            raise InvalidService(f"{at} must be an object with name, uri and, if you like, ttl.", at)
        name = definition.check_words(each["name"], f"{at}.name", 64, needed=True)
        found.append({"name": name, "uri": each["uri"], "ttl": descriptor.time_to_live(each.get("ttl", 60), at)})
    if len(still_there(found, offered)) < len(found):
        raise InvalidService("A feed's uri must be that of a resource which the server lists.", "feeds")
    if len({each["name"] for each in found}) < len(found):
        raise InvalidService("Two feeds have the same name.", "feeds")
    return found


def still_there(chosen: list[dict[str, Any]], offered: dict[str, Any]) -> list[dict[str, Any]]:
    """The feeds among them whose resources are offered."""
    listed = [each["uri"] for each in offered.get("resources") or ()]
    return [each for each in chosen if each["uri"] in listed]


def hash_of(slug: str, listed: list[Any], name: str) -> str:
    """The hash of the definition of the tool that its server calls so; "" where none of that name can be used."""
    for each in listed:
        if isinstance(each, dict) and each.get("name") == name:
            try:
                return _tool(slug, each, "tool").hash
            except InvalidService:
                return ""
    return ""


def _tool(slug: str, given: Any, at: str) -> Definition:
    if not isinstance(given, dict):
        raise InvalidService(f"{at} is no object.", at)
    schema = definition.check_schema(given.get("inputSchema", _NONE), f"{at}.inputSchema")
    if given.get("outputSchema") is not None:
        definition.check_schema(given["outputSchema"], f"{at}.outputSchema")
    upstream = given.get("name")
    if not isinstance(upstream, str) or not 0 < len(upstream) <= 128:
        raise InvalidService(f"{at}.name is no text of 1 to 128 characters.", at)
    text.check(upstream, f"{at}.name")
    # The protocol takes dots, and providers do not.
    name = definition.check_name(slug, _OTHER.sub("_", upstream), f"{at}.name")
    definition.check_words(given.get("title"), f"{at}.title", definition.MAX_TITLE)
    definition.check_words(given.get("description"), f"{at}.description", definition.MAX_DESCRIPTION)
    definition.check_annotations(given.get("annotations"), f"{at}.annotations")
    try:
        marked = marks.marked(schema)
    except marks.InvalidMark as invalid:
        raise InvalidService(f"{at}.inputSchema cannot be used: {invalid}.", at) from None
    kept = {field: given[field] for field in _FIELDS if given.get(field) is not None}
    return Definition(
        name=name,
        # Models are always told what a tool is for, if only by its name.
        given={"description": given.get("title") or upstream, **kept},
        parameters=definition.shown_schema(schema, f"{at}.inputSchema", without=frozenset(), in_path=set()),
        http={"tool": upstream, "headers": marked, "output": _evaluable(given.get("outputSchema"))},
    )


def _evaluable(output: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema of structured content where results can be compared with it, which decides nothing."""
    try:
        declare_condition(output)
    except InvalidToolDeclaration:
        return None
    return output


def _instructions(given: Any) -> tuple[str, str]:
    """What the server says of how to use it, or why that is not here."""
    try:
        return definition.check_words(given, "instructions", MAX_SKILL), ""
    except InvalidService as refused:
        return "", f"The server's instructions cannot be used: {refused.detail}"[:500]


def _entries(given: Any, kind: str, left_out: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Resources, templates or prompts that people and models may be shown, by their key."""
    found: dict[str, dict[str, Any]] = {}
    for each in given or ():
        key = each.get(_KEYS[kind]) if isinstance(each, dict) else None
        if not isinstance(key, str) or not key or not isinstance(each.get("name"), str):
            continue
        entry = {field: each[field] for field in _ENTRIES[kind] if each.get(field) is not None}
        try:
            text.check(entry, key)
            if references.depth(entry) > definition.MAX_DEPTH or len(canonical(entry)) > MAX_ENTRY:
                raise InvalidService(f"It has more than {MAX_ENTRY:,} bytes.")
        except (InvalidService, NotCanonical) as refused:
            left_out.append({"name": _printable(key), "why": str(refused)[:500]})
        else:
            found.setdefault(key, entry)
    return list(found.values())


def _words(value: Any, most: int) -> str:
    """A text of a stranger that is not worth a refusal."""
    return _printable(value)[:most]


def _printable(value: Any) -> str:
    given = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in given[:4096])
