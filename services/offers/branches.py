"""Properties that a schema of arguments names in its alternatives alone: `anyOf: [{properties: {url: …}}, …]`."""

from typing import Any

# Keywords whose schemas are of the same object, and say what it may have.
_LISTS = ("allOf", "anyOf", "oneOf")
_ONE = ("if", "then", "else")


def properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Those that are no property of the schema itself, each with what its alternatives say of it together."""
    found: dict[str, list[Any]] = {}
    waiting: list[Any] = _below(schema)
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, dict):
            named = each.get("properties")
            for name, said in named.items() if isinstance(named, dict) else ():
                several = found.setdefault(name, [])
                if said not in several:
                    several.append(said)
            waiting += _below(each)
    own = schema.get("properties")
    known = own if isinstance(own, dict) else {}
    return {
        name: several[0] if len(several) == 1 else {"anyOf": several}
        for name, several in found.items()
        if name not in known
    }


def _below(schema: dict[str, Any]) -> list[Any]:
    """The schemas of the same object that a schema is made of."""
    listed = [each for keyword in _LISTS if isinstance(schema.get(keyword), list) for each in schema[keyword]]
    named = schema.get("dependentSchemas")
    return [
        *listed,
        *(schema[keyword] for keyword in _ONE if keyword in schema),
        *(named.values() if isinstance(named, dict) else ()),
    ]
