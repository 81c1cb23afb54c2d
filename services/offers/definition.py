"""The definition of one tool of a service: what the service says, checked, and what a model is shown of it."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.canonical import NotCanonical, canonical, sha256_hex
from services.errors import InvalidService
from services.offers import branches, references, text
from tools.interface import Tool
from tools.schemas.schema import MAX_SCHEMA_BYTES, InvalidToolDeclaration, declare

MAX_TOOLS = 1000
# Common schemas take a fifth of a millisecond each, and the worst one a second.
MOST_SECONDS = 5.0
MAX_SLUG = 32
# What every provider takes as a tool's name; the dot between slug and name becomes two characters towards them.
MAX_ALIAS = 64
MAX_DESCRIPTION = 4096
MAX_TITLE = 200
MAX_DEPTH = 32
FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "http")

_SLUG = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# Parts between slashes or backslashes, each of them empty, or neither . nor .. as a whole.
_PART = r"([^./\\][^/\\]*|\.[^./\\][^/\\]*|\.\.[^/\\]+)?"
SEGMENT = rf"^{_PART}([/\\]{_PART})*$"
# Dialects whose common keywords mean the same: what differs is refused by its keyword.
_DIALECT = re.compile(r"https?://json-schema\.org/(draft/2020-12|draft/2019-09|draft-0[4-7])/schema#?")


class Effort:
    """The processor's time that reading one offer may take, all its tools together."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self._end = time.thread_time() + seconds

    def check(self, at: str) -> None:
        """Raise InvalidService when it is used up."""
        if time.thread_time() > self._end:
            raise InvalidService(
                f"{at} and the tools before it take too long to check. Add fewer, or simpler ones.", at
            )


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its service defines it: `given` has FIELDS, as far as they were given.

    `parameters` is the schema that a model is shown and arguments are held to, `http` how the tool is called.
    """

    name: str
    given: dict[str, Any]
    parameters: dict[str, Any]
    http: dict[str, Any] | None

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of what was given, in hexadecimal."""
        return sha256_hex(self.given)


def check_slug(slug: Any) -> str:
    """The slug of a service; raises InvalidService."""
    if not isinstance(slug, str) or len(slug) > MAX_SLUG or not _SLUG.fullmatch(slug):
        raise InvalidService(
            f"slug must be lower-case letters, digits, - and _, begin with a letter, and have at most {MAX_SLUG}"
            " characters.",
            "slug",
        )
    return slug


def aliased(tool_name: str) -> str:
    """A full name as providers are told it."""
    return tool_name.replace(".", "__")


def check_name(slug: str, name: Any, at: str) -> str:
    """A tool's own name; raises InvalidService when it, with its service's, is none that every provider takes."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidService(f"{at} must be letters, digits, - and _, and begin with a letter.", at)
    if len(aliased(f"{slug}.{name}")) > MAX_ALIAS:
        raise InvalidService(
            f"{at} is too long: {slug}.{name:.80} has more than {MAX_ALIAS} characters, as providers are told it.", at
        )
    return name


def check_schema(schema: Any, at: str) -> dict[str, Any]:
    """A JSON Schema of an object within its bounds; raises InvalidService."""
    if not isinstance(schema, dict):
        raise InvalidService(f"{at} must be a JSON Schema, which is an object.", at)
    if references.depth(schema) > MAX_DEPTH:
        raise InvalidService(f"{at} is nested more than {MAX_DEPTH} levels deep.", at)
    try:
        size = len(canonical(schema))
    except NotCanonical as error:
        raise InvalidService(f"{at} cannot be kept: {error}", at) from None
    if size > MAX_SCHEMA_BYTES:
        raise InvalidService(f"{at} has {size:,} bytes; at most {MAX_SCHEMA_BYTES:,} are taken.", at)
    text.check(schema, at)
    return schema


def shown_schema(
    schema: dict[str, Any], at: str, *, without: frozenset[str], in_path: set[str], hosts: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema as a model is shown it: references inlined, closed, and without the properties `without`.

    Those `in_path` are held to what can be a part of an address, and `host` to `hosts`, where there are any, so that
    nobody approves a call that cannot run.
    Raises InvalidService for a schema that arguments cannot be checked against.
    """
    shown = references.inlined(schema, at, MAX_DEPTH, MAX_SCHEMA_BYTES)
    if _DIALECT.fullmatch(str(shown.get("$schema", ""))):
        del shown["$schema"]
    if shown.setdefault("type", "object") != "object":
        raise InvalidService(f'{at} must have "type": "object".', at)
    # What is no parameter would have no place in the request.
    shown["additionalProperties"] = False
    properties = shown.get("properties", {})
    if not isinstance(properties, dict):
        raise InvalidService(f"{at}.properties must be an object.", at)
    # Arguments that only an alternative names are taken too, as it says.
    known = {**properties, **branches.properties(shown)}
    shown["properties"] = {name: each for name, each in known.items() if name not in without}
    for name in in_path & set(shown["properties"]):
        shown["properties"][name] = _segment(shown["properties"][name])
    if hosts:
        described = shown["properties"]["host"] if isinstance(shown["properties"].get("host"), dict) else {}
        shown["properties"]["host"] = described | {"type": "string", "enum": list(hosts)}
        shown["required"] = sorted({*_texts(shown.get("required")), "host"})
    required = shown.get("required")
    if isinstance(required, list):
        shown["required"] = [name for name in required if name not in without]
    try:
        declare(shown)
    except InvalidToolDeclaration as error:
        raise InvalidService(f"{at} cannot be used: {error}.", at) from None
    return shown


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _segment(schema: Any) -> dict[str, Any]:
    """The schema of an argument that is a part of an address: never empty, and no . or .. between slashes."""
    held = dict(schema) if isinstance(schema, dict) else {}
    least = held.get("minLength")
    held["minLength"] = max(1, least) if isinstance(least, int) else 1
    if "pattern" in held:
        also = held.get("allOf")
        held["allOf"] = [*(also if isinstance(also, list) else ()), {"pattern": SEGMENT}]
    else:
        held["pattern"] = SEGMENT
    return held


def check_words(value: Any, at: str, most: int, *, needed: bool = False) -> str:
    """A text for people and models; raises InvalidService."""
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or len(value) > most or (needed and not value.strip()):
        raise InvalidService(f"{at} must be a text of {'1 to ' if needed else 'up to '}{most:,} characters.", at)
    text.check(value, at)
    return value


def check_annotations(value: Any, at: str) -> dict[str, Any]:
    """What a service says of its own tool, which decides nothing; raises InvalidService."""
    if value is None:
        return {}
    if not isinstance(value, dict) or references.depth(value) > MAX_DEPTH:
        raise InvalidService(f"{at} must be an object.", at)
    try:
        size = len(canonical(value))
    except NotCanonical as error:
        raise InvalidService(f"{at} cannot be kept: {error}", at) from None
    if size > MAX_DESCRIPTION:
        raise InvalidService(f"{at} may have up to {MAX_DESCRIPTION:,} bytes.", at)
    text.check(value, at)
    return value


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """What differs between two definitions as they were given, field by field: `{field, before, after}`."""
    return [
        {"field": name, "before": before.get(name), "after": after.get(name)}
        for name in FIELDS
        if before.get(name) != after.get(name)
    ]


def refuse_collisions(slug: str, names: list[str], others: dict[str, str], installed: list[Tool]) -> None:
    """Raise InvalidService where two tools would have the same name towards a provider.

    `others` are the names of the tenant's other tools by alias, `installed` Toolgate's own tools.
    """
    taken = others | {aliased(tool.name): tool.name for tool in installed}
    for name in names:
        full = f"{slug}.{name}"
        if (other := taken.setdefault(aliased(full), full)) != full:
            raise InvalidService(
                f"{full} and {other} would have the same name, {aliased(full)}, towards a provider. Choose another"
                " slug, or rename one of them.",
                "slug",
            )
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise InvalidService(f"Two tools have the name {min(twice)}.", "descriptor.tools")
