"""Parameters of an operation: which of them a model gives, what it is told of each, and how each is written."""

import re
from typing import Any

from services.errors import InvalidService
from services.offers import text
from services.offers.headers import REFUSED_HEADERS
from services.offers.openapi import schemas

MAX_PARAMETERS = 200
Parameter = dict[str, Any]
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
# What a style is called in `services.execution.styles`, by place and, for a query, whether it is exploded.
_QUERY = {
    ("form", False): "comma", ("spaceDelimited", False): "space", ("pipeDelimited", False): "pipe",
    ("form", True): "fields", ("spaceDelimited", True): "repeat", ("pipeDelimited", True): "repeat",
    ("deepObject", True): "deep", ("deepObject", False): "deep",
}  # fmt: skip


def of(document: dict[str, Any], lists: list[Any], at: str) -> dict[tuple[str, str], Parameter]:
    """The parameters by place and name, later lists replacing earlier ones; raises InvalidService.

    Cookies, and headers that are the connection's or the credential's, are nothing that a model sends.
    """
    found: dict[tuple[str, str], Parameter] = {}
    for listed in lists:
        if listed is None:
            continue
        if not isinstance(listed, list) or len(listed) > MAX_PARAMETERS:
            raise InvalidService(f"{at}: parameters must be a list of up to {MAX_PARAMETERS}.", "operations")
        for each in listed:
            parameter = schemas.followed(document, each, at)
            where, called = parameter.get("in"), parameter.get("name")
            if not isinstance(called, str) or not called or where not in ("path", "query", "header", "cookie"):
                raise InvalidService(f"{at} has a parameter without a name or a place.", "operations")
            text.check(called, f"{at}: a parameter's name")
            found[where, called] = parameter
    return {
        (where, called): parameter
        for (where, called), parameter in found.items()
        if where in ("path", "query") or (where == "header" and _sendable(called))
    }


def _sendable(header: str) -> bool:
    return bool(_HEADER.fullmatch(header)) and header.lower() not in REFUSED_HEADERS | {"accept", "user-agent"}


def schema_of(document: dict[str, Any], parameter: Parameter, at: str) -> Any:
    """What its argument is held to; raises InvalidService."""
    schema = parameter.get("schema")
    if schema is None:
        # A parameter may be described by a media type instead; it is sent as JSON then.
        content = parameter.get("content")
        [media] = list(content.values())[:1] if isinstance(content, dict) and content else [{}]
        schema = media.get("schema", {}) if isinstance(media, dict) else {}
    made = schemas.sent(document, schema, at)
    described = parameter.get("description")
    shown = isinstance(described, str) and described and "description" not in made
    return made | ({"description": described} if shown else {})


def place(parameter: Parameter, schema: dict[str, Any], at: str) -> list[str]:
    """Its place as `services.offers.placing` has it, with a style where one is needed; raises InvalidService."""
    where, called = parameter["in"], parameter["name"]
    style = parameter.get("style", "form" if where == "query" else "simple")
    found = _style(where, style, parameter, schema)
    if found is None:
        raise InvalidService(f"{at}: {called:.80} is written in the style {style!s:.40}, which is not known.", at)
    return [where, called, *([found] if found else [])]


def _style(where: str, style: Any, parameter: Parameter, schema: dict[str, Any]) -> str | None:
    """What `services.execution.styles` calls it: "" where nothing needs to be said, None for an unknown one."""
    if parameter.get("schema") is None and parameter.get("content") is not None:
        return "json" if _may_be(schema, "array", "object") else ""
    if where != "query":
        if style != "simple":
            return None
        return "comma" if _may_be(schema, "array", "object") else ""
    explode = parameter.get("explode", style == "form")
    found = _QUERY.get((style, explode is True)) if isinstance(style, str) else None
    # A list is repeated anyway, and what is neither is one text in every style.
    needed = ("object",) if found == "fields" else () if found == "repeat" else ("array", "object")
    return found if found is None or (needed and _may_be(schema, *needed)) else ""


def encoding(name: str, media: dict[str, Any]) -> str:
    """The style of one field of a form, as its media type says it: lists are repeated, objects are JSON by default."""
    said = media.get("encoding")
    own = said.get(name) if isinstance(said, dict) else None
    if not isinstance(own, dict) or not {"style", "explode"} & set(own):
        return "repeat"
    style = own.get("style", "form")
    explode = own.get("explode", style == "form")
    return (_QUERY.get((style, explode is True)) if isinstance(style, str) else None) or "repeat"


def _may_be(schema: dict[str, Any], *types: str) -> bool:
    """Whether a schema names one of these types, itself or in one of its alternatives."""
    said = schema.get("type")
    named = {said} if isinstance(said, str) else set(map(str, said)) if isinstance(said, list) else set()
    if named & set(types) or ("array" in types and "items" in schema) or ("object" in types and "properties" in schema):
        return True
    branches = [each for keyword in ("anyOf", "oneOf", "allOf") for each in _listed(schema.get(keyword))]
    return any(isinstance(each, dict) and _may_be(each, *types) for each in branches)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
