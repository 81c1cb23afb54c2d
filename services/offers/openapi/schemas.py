"""Schemas of an OpenAPI document as JSON Schema of what is sent: references in place, 3.0's own keywords translated."""

from typing import Any

from services.errors import InvalidService
from services.offers import definition, references
from tools.schemas.schema import MAX_SCHEMA_BYTES

# What says nothing to whoever sends arguments.
_DROPPED = frozenset({
    *("discriminator", "xml", "externalDocs", "example", "$id", "$anchor", "$comment"),
    *("readOnly", "writeOnly"),
})  # fmt: skip
_WORDS = ("title", "description", "default")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas")


def sent(document: dict[str, Any], schema: Any, at: str) -> dict[str, Any]:
    """A schema of the document as arguments are held to it; raises InvalidService."""
    given = schema if isinstance(schema, dict) else {}
    made = references.inlined(given, f"{at}: its parameters", definition.MAX_DEPTH, MAX_SCHEMA_BYTES, document)
    found = _plain(made)
    return found if isinstance(found, dict) else {}


def followed(document: dict[str, Any], given: Any, at: str) -> dict[str, Any]:
    """What a reference names, a few references later if need be; raises InvalidService."""
    for _ in range(5):
        if not isinstance(given, dict):
            break
        pointer = given.get("$ref")
        if pointer is None:
            return given
        given = references.named(document, pointer, at)
    raise InvalidService(f"{at} has a reference that leads to no object.", "operations")


def _plain(schema: Any) -> Any:
    """What may be null says so, exclusive bounds are numbers, and what only answers have is left out."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = _without_read_only(schema)
    made = {
        name: _plain_named(name, value)
        for name, value in kept.items()
        if name not in _DROPPED and not name.startswith("x-")
    }
    nullable = made.pop("nullable", None) is True
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool):
            said = made.pop(exclusive)
            if said and bound in made:
                made[exclusive] = made.pop(bound)
    return _with_null(made) if nullable else made


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, which takes null too. 3.0 says so beside a type, and its generators beside a reference as well."""
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    words: dict[str, Any] = {name: schema[name] for name in _WORDS if name in schema}
    rest = {name: value for name, value in schema.items() if name not in _WORDS}
    return {"anyOf": [rest, {"type": "null"}], **words} if rest else words


def _without_read_only(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the properties that only answers have, which the document may require of answers."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return schema
    answered = {
        name
        for name, each in properties.items()
        if isinstance(each, dict) and each.get("readOnly") is True
    }  # fmt: skip
    if not answered:
        return schema
    kept = {name: each for name, each in properties.items() if name not in answered}
    more = {"required": [name for name in required if name not in answered]} if isinstance(required, list) else {}
    return {**schema, "properties": kept, **more}


def _plain_named(name: str, value: Any) -> Any:
    if name in ("enum", "const", "default", "examples", "required"):
        return value
    if name in _BY_NAME and isinstance(value, dict):
        # These map names to schemas: a property may be called "example".
        return {each: _plain(schema) for each, schema in value.items()}
    return _plain(value)
