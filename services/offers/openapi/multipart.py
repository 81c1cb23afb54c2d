"""Fields of a form with files (multipart/form-data): which of them are files, and what is sent for each."""

import re
from typing import Any

from services.offers.openapi import parameters

# The arguments of a call have room for no more.
MOST_CHARACTERS = 200_000
_WORDS = ("title", "description")
_MEDIA = re.compile(r"[a-z0-9.+_-]{1,64}/[a-z0-9.+_-]{1,64}")
_FILE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^/\\]+$"},
        "text": {"type": "string", "maxLength": MOST_CHARACTERS, "description": "The content of a file of text."},
        "base64": {
            "type": "string",
            "maxLength": MOST_CHARACTERS,
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
            "description": "The content of any other file.",
        },
        "media_type": {"type": "string", "pattern": r"^[a-z0-9.+-]{1,64}/[a-z0-9.+-]{1,64}$"},
    },
    "required": ["name"],
    "oneOf": [{"required": ["text"]}, {"required": ["base64"]}],
    "additionalProperties": False,
}


def field(called: str, schema: Any, media: dict[str, Any]) -> tuple[Any, list[str]]:
    """What the argument of a field is held to, and its place; `media` is the form's media type in the document.

    A file is an object of its name and its content, and several are a list of those.
    """
    said = media.get("encoding")
    own = said.get(called) if isinstance(said, dict) else None
    kinds = own.get("contentType") if isinstance(own, dict) else None
    kind = _first(kinds) if isinstance(kinds, str) else ""
    if _is_file(schema, kind):
        return _FILE | _words(schema), ["body", called, "file", *([kind] if kind else [])]
    items = schema.get("items") if isinstance(schema, dict) else None
    if items is not None and _is_file(items, kind):
        bounds = {name: schema[name] for name in ("minItems", "maxItems") if name in schema}
        several = {"type": "array", "items": _FILE} | bounds | _words(schema)
        return several, ["body", called, "file", *([kind] if kind else [])]
    return schema, ["body", called, parameters.encoding(called, media), *([kind] if kind else [])]


def _is_file(schema: Any, kind: str) -> bool:
    """Whether a field's content is bytes of its own, by the words of 3.0, of 3.1, or of its media type."""
    if not isinstance(schema, dict):
        return False
    for keyword in ("anyOf", "oneOf"):
        if isinstance(several := schema.get(keyword), list):
            others = [each for each in several if each != {"type": "null"}]
            return len(others) == 1 and _is_file(others[0], kind)
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(map(str, types)) if isinstance(types, list) else set()
    if not named:
        # 3.1 has no schema for bytes: the media type is all that is said.
        return not set(schema) - set(_WORDS) and bool(kind) and not (kind.startswith("text/") or kind.endswith("json"))
    in_text = "contentEncoding" in schema
    binary = schema.get("format") == "binary" or ("contentMediaType" in schema and not in_text)
    return binary and named <= {"string", "null"}


def _first(kinds: str) -> str:
    """The first media type of a list that stands for one and no more; "" where none does."""
    named = (each.strip().lower() for each in kinds.split(","))
    return next((each for each in named if _MEDIA.fullmatch(each)), "")


def _words(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: schema[name] for name in _WORDS if isinstance(schema.get(name), str)}
