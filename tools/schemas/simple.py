"""Arguments that fit a schema of the simplest kind, told a hundred times sooner than by JSON Schema's validator.

A yes is what the whole check would say too; anything else says only that it has to be made.
"""

from collections.abc import Callable, Mapping
from typing import Any

# Annotations: no check depends on them.
_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
_TOP = _ANNOTATIONS | {"$schema", "type", "properties", "required", "additionalProperties"}
_OF_PROPERTY = _ANNOTATIONS | {"type", "enum", "minLength", "maxLength", "minimum", "maximum"}
_KINDS: dict[str, type] = {"string": str, "integer": int, "boolean": bool}
_Test = Callable[[Any], bool]


class Fit:
    """The properties that arguments may have, what each must be, and those that they must have."""

    def __init__(self, tests: dict[str, _Test], required: frozenset[str]):
        self._tests, self._required = tests, required

    @classmethod
    def of(cls, schema: dict[str, Any]) -> "Fit | None":
        """Of a schema that is sound; None where it is not simple."""
        if not schema.keys() <= _TOP or schema.get("type") != "object":
            return None
        tests = {name: _test(each) for name, each in schema.get("properties", {}).items()}
        sure = {name: test for name, test in tests.items() if test is not None}
        return cls(sure, frozenset(schema.get("required", ())))

    def holds(self, arguments: Any) -> bool:
        """Whether the arguments fit; where they do not, the whole check says what is wrong, if anything."""
        if type(arguments) is not dict or not self._required <= arguments.keys():
            return False
        for name, value in arguments.items():
            test = self._tests.get(name)
            if test is None or not test(value):
                return False
        return True


def _test(schema: Any) -> _Test | None:
    """What tells of a value that it fits; None where that takes a whole check."""
    if not isinstance(schema, dict) or not schema.keys() <= _OF_PROPERTY or "type" not in schema:
        return None
    kind = _KINDS.get(schema["type"]) if isinstance(schema["type"], str) else None
    if kind is None:
        return None
    bounds = _bounds(schema, kind)
    among = frozenset(each for each in schema["enum"] if type(each) is kind) if "enum" in schema else None
    measures: dict[type, Callable[[Any], Any]] = {str: len, int: int}
    measure = measures.get(kind)

    def holds(value: Any) -> bool:
        if type(value) is not kind or (among is not None and value not in among):
            return False
        return measure is None or all(low <= measure(value) <= high for low, high in bounds)

    return holds


def _bounds(schema: Mapping[str, Any], kind: type) -> list[tuple[float, float]]:
    """Between which the length of a text lies, or a number; nothing where there are none."""
    names = {str: ("minLength", "maxLength"), int: ("minimum", "maximum")}.get(kind)
    if names is None or schema.keys().isdisjoint(names):
        return []
    return [(schema.get(names[0], float("-inf")), schema.get(names[1], float("inf")))]
