"""What a rule's condition may say: a JSON Schema, without the ways in which one matches more than its author meant.

Text is compared, matched and measured in Unicode's normal form NFC, in the condition as in the arguments.

JSON Schema passes over what it does not know, and `properties` says nothing of a property that is absent. A rule must
not let calls through because of either, so a condition names only keywords, formats and parameters that exist, and an
approving one requires every property that it looks at.
"""

from collections.abc import Iterator
from typing import Any

from audit.canonical import canonical
from tools.errors import ToolValidationError
from tools.schemas import arguments, normal, schema
from tools.schemas.formats import FORMATS
from tools.schemas.schema import InvalidToolDeclaration

MAX_BYTES = 4096
# Keywords whose value is a schema, a list of schemas, or schemas by name; and those whose value is something else.
# Left out: references, so that a condition can be read from top to bottom, and titles and descriptions, which are
# easily meant as parameters of those names.
_ONE = frozenset({"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else"})
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
_PLAIN = frozenset(
    {"type", "enum", "const", "required", "dependentRequired", "minProperties", "maxProperties", "minItems", "maxItems"}
    | {"minContains", "maxContains", "uniqueItems", "pattern", "format", "minLength", "maxLength", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)
# These look at the same value as the schema that they stand in.
_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})


class InvalidCondition(ValueError):
    """The condition does not say what its author can have meant; the message says where and why."""


def read(text: str) -> Any:
    """What somebody typed, read as strictly as a model's arguments; nothing is None. Raises InvalidCondition."""
    try:
        return arguments.read(text) if text.strip() else None
    except ToolValidationError as error:
        raise InvalidCondition(error.message) from None


def check(condition: Any, *, approves: bool, parameters: dict[str, Any] | None) -> None:
    """Raise InvalidCondition for a condition that a rule cannot have; `parameters` None: of no particular tool."""
    try:
        schema.declare_condition(condition)
    except InvalidToolDeclaration as error:
        raise InvalidCondition(str(error)) from None
    size = len(canonical(condition))
    if size > MAX_BYTES:
        raise InvalidCondition(f"it has {size:,} bytes; at most {MAX_BYTES:,} are allowed")
    if approves and not condition:
        raise InvalidCondition("it is empty, and so matches any arguments; leave it out to mean that")
    _check(normal.form(condition), "", normal.form(parameters), approves)


def loose_ends(condition: Any) -> Iterator[str]:
    """What is allowed, and easily meant otherwise, in words."""
    for at, each, _ in _parts(condition, "", None):
        pattern = each.get("pattern")
        if isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$")):
            yield f"{_shown(at)}: the pattern {pattern} matches anywhere in a text; begin it with ^ and end it with $."


def _check(condition: dict[str, Any], at: str, parameters: dict[str, Any] | None, approves: bool) -> None:
    for place, each, declared in _parts(condition, at, parameters):
        for keyword in each:
            if keyword not in _ONE | _SEVERAL | _NAMED | _PLAIN:
                raise InvalidCondition(f"{_shown(place)} uses {keyword}, which is no keyword for conditions")
        if each.get("format", "date") not in FORMATS.checkers:
            raise InvalidCondition(f"{_shown(place)} uses the format {each['format']}, which says nothing here")
        unknown = sorted(_names(each) - declared) if declared is not None else []
        if unknown:
            raise InvalidCondition(f"{_shown(place)} names {', '.join(unknown)}, which the tool does not have there")
        looked_at = {name for name, value in each.get("properties", {}).items() if value is not False}
        absent = sorted(looked_at - set(each.get("required", ())))
        if approves and absent:
            raise InvalidCondition(
                f'{_shown(place)} looks at {", ".join(absent)} without "required", and so matches when it is left out'
            )


def _names(condition: dict[str, Any]) -> set[str]:
    """The properties that one schema names."""
    named = set(condition.get("properties", ())) | set(condition.get("required", ()))
    for keyword in ("dependentRequired", "dependentSchemas"):
        named |= set(condition.get(keyword, ()))
    return named.union(*condition.get("dependentRequired", {}).values())


Part = tuple[str, dict[str, Any], set[str] | None]


def _parts(condition: Any, at: str, declared: Any) -> Iterator[Part]:
    """The schema and every schema in it: where in the arguments it looks, itself, and the names that can be there.

    `declared` is the tool's own schema of that place; where that is not known, or leaves names open, names are None.
    """
    if not isinstance(condition, dict):
        return
    own = declared if isinstance(declared, dict) else {}
    closed = own.get("additionalProperties") is False and not own.get("patternProperties")
    yield at, condition, set(own.get("properties", ())) if closed else None
    for keyword, value in condition.items():
        below = declared if keyword in _SAME_VALUE else own.get("items") if keyword in ("items", "contains") else None
        if keyword == "properties":
            for name, each in value.items():
                yield from _parts(each, f"{at}.{name}", own.get("properties", {}).get(name))
        elif keyword in _NAMED:
            for each in value.values():
                yield from _parts(each, at, below)
        elif keyword in _SEVERAL:
            for each in value:
                yield from _parts(each, at, below)
        elif keyword in _ONE:
            yield from _parts(value, f"{at}.*" if keyword not in _SAME_VALUE else at, below)


def _shown(at: str) -> str:
    return at.removeprefix(".") or "its top"
