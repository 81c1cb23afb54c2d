"""What a rule's condition may say: a JSON Schema, without the ways in which one matches more than its author meant.

Text is compared, matched and measured in Unicode's normal form NFC, in the condition as in the arguments.

JSON Schema passes over what it does not know, `properties` says nothing of a property that is absent, and `pattern`
says nothing of a list. A rule must not let calls through because of either, so a condition names only keywords, formats
and parameters that exist, an approving one requires every property that it looks at, and where a keyword is about one
type of value, the tool or the condition says that the value is of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
# The type of value that a keyword is about; a value of any other passes it.
_ABOUT = (
    dict.fromkeys(("pattern", "format", "minLength", "maxLength"), "string")
    | dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number")
    | dict.fromkeys(("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"), "array")
    | dict.fromkeys(
        ("required", "dependentRequired", "minProperties", "maxProperties", "additionalProperties"), "object"
    )
    | dict.fromkeys(("properties", "patternProperties", "propertyNames", "dependentSchemas"), "object")
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
    _check(normal.form(condition), normal.form(parameters), approves)


def loose_ends(condition: Any) -> Iterator[str]:
    """What is allowed, and easily meant otherwise, in words."""
    for part in _parts(condition, None):
        pattern = part.schema.get("pattern")
        if isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$")):
            yield f"{part}: the pattern {pattern} matches anywhere in a text; begin it with ^ and end it with $."


def _check(condition: dict[str, Any], parameters: dict[str, Any] | None, approves: bool) -> None:
    for part in _parts(condition, parameters):
        each = part.schema
        for keyword in each:
            if keyword not in _ONE | _SEVERAL | _NAMED | _PLAIN:
                raise InvalidCondition(f"{part} uses {keyword}, which is no keyword for conditions")
        if each.get("format", "date") not in FORMATS.checkers:
            raise InvalidCondition(f"{part} uses the format {each['format']}, which says nothing here")
        unknown = sorted(_names(each) - part.names) if part.names is not None else []
        if unknown:
            raise InvalidCondition(f"{part} names {', '.join(unknown)}, which the tool does not have there")
        looked_at = {name for name, value in each.get("properties", {}).items() if value is not False}
        absent = sorted(looked_at - set(each.get("required", ())))
        if approves and absent:
            raise InvalidCondition(
                f'{part} looks at {", ".join(absent)} without "required", and so matches when it is left out'
            )
        if approves in part.counts:
            _check_types(part)


def _check_types(part: "_Part") -> None:
    """Refuse a keyword that a value of another type, which can be there, would pass."""
    if {"const", "enum"} & part.schema.keys():
        return
    for keyword in sorted(part.schema.keys() & _ABOUT.keys()):
        about = _ABOUT[keyword]
        if not part.types or not part.types <= ({"number", "integer"} if about == "number" else {about}):
            raise InvalidCondition(
                f'{part} uses {keyword}, which passes whatever is not of the type {about}; say "type": "{about}" there'
            )


def _names(condition: dict[str, Any]) -> set[str]:
    """The properties that one schema names."""
    named = set(condition.get("properties", ())) | set(condition.get("required", ()))
    for keyword in ("dependentRequired", "dependentSchemas"):
        named |= set(condition.get(keyword, ()))
    return named.union(*condition.get("dependentRequired", {}).values())


@dataclass(frozen=True, slots=True)
class _Part:
    """A schema within a condition: where in the arguments it looks, what can be there, and which way it counts.

    `names` are the properties that can be there, `types` the types of value that tool and condition leave; None: any.
    `counts` holds True where what passes here lets the whole condition match, False where it keeps it from that.
    """

    at: str
    schema: dict[str, Any]
    names: set[str] | None
    types: frozenset[str] | None
    counts: frozenset[bool]

    def __str__(self) -> str:
        return self.at.removeprefix(".") or "its top"


_EITHER_WAY = frozenset({True, False})
_OBJECT = frozenset({"object"})


def _parts(
    condition: Any, declared: Any, at: str = "", types: frozenset[str] | None = _OBJECT,
    counts: frozenset[bool] = frozenset({True}),
) -> Iterator[_Part]:  # fmt: skip
    """The schema and every schema in it; `declared` is the tool's own schema of that place, where it is known."""
    if not isinstance(condition, dict):
        return
    own = declared if isinstance(declared, dict) else {}
    closed = own.get("additionalProperties") is False and not own.get("patternProperties")
    types = _types(condition) or types
    yield _Part(at, condition, set(own.get("properties", ())) if closed else None, types, counts)
    for keyword, value in condition.items():
        same = keyword in _SAME_VALUE
        below, place = (declared, at) if same else (_below(own, keyword), f"{at}.*")
        within = counts
        if keyword == "not":
            within = frozenset(not each for each in counts)
        elif keyword in ("if", "oneOf") or (keyword == "contains" and "maxContains" in condition):
            within = _EITHER_WAY
        if keyword == "properties":
            for name, each in value.items():
                of_name = own.get("properties", {}).get(name)
                yield from _parts(each, of_name, f"{at}.{name}", _types(of_name), within)
        elif keyword in _ONE | _SEVERAL | _NAMED:
            place = place if keyword in _ONE else at
            schemas = [value] if keyword in _ONE else value if keyword in _SEVERAL else value.values()
            for each in schemas:
                yield from _parts(each, below, place, types if same else _types(below), within)


def _below(own: dict[str, Any], keyword: str) -> Any:
    """The tool's own schema of what a keyword goes down to; None when it is not known."""
    if keyword in ("items", "contains"):
        return own.get("items")
    return {"type": "string"} if keyword == "propertyNames" else None


def _types(schema: Any) -> frozenset[str] | None:
    """The types of value that a schema names; None when it names none."""
    named = schema.get("type") if isinstance(schema, dict) else None
    return frozenset([named] if isinstance(named, str) else named) if named else None
