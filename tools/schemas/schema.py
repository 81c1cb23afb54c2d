"""Tools' parameter schemas: whether one is sound when it is declared, and whether a call's arguments fit it.

JSON Schema Draft 2020-12. Nothing outside the schema is ever read, formats are asserted (`formats.py`), patterns mean
what ECMA-262 says (`patterns/`), and a check ends in bounded time whatever it is given (`bounded.py`). What
cannot be decided by then is no answer of a keyword's: it raises Undecidable and so ends the whole check, so that no
`not`, `anyOf`, `if` or `contains` around it can make a yes or a no of it.
"""

from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

import orjson
import referencing
from jsonschema import Draft202012Validator, ValidationError, exceptions
from referencing.exceptions import Unresolvable

from audit.canonical import NotCanonical, canonical
from tools.schemas import bounded, normal, simple
from tools.schemas.formats import FORMATS
from tools.schemas.patterns import ecma
from tools.schemas.plain import is_plain
from tools.schemas.undecidable import Undecidable
from tools.schemas.violations import Violation, unchecked, violation

# A schema is sent to the model with every request; one beyond this would fill its context.
MAX_SCHEMA_BYTES = 64 * 1024
# A tenant writes its conditions itself, and many may be tried on one call; no honest one comes near this.
CONDITION_STEPS = 20_000
# Nothing but what JSON has.
_AS_IT_IS = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
# The best of the first few errors is reported; a list of 10,000 wrong items has 10,000 of them.
_ERRORS_WEIGHED = 20
_DIALECTS = frozenset({"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"})
# Keywords that move the base of references, or whose own search through the schema has no bound.
_REFUSED_KEYWORDS = frozenset(
    {"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "unevaluatedItems", "unevaluatedProperties"}
)
# Keywords whose value is data or names, not schemas; and those that map names to schemas.
_DATA = frozenset({"const", "default", "enum", "examples", "required", "dependentRequired", "type"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


class InvalidToolDeclaration(Exception):
    """A tool's declaration cannot be used; the message names the tool or the place in its schema, and says why."""


def check(parameters: dict[str, Any], arguments: dict[str, Any]) -> Violation | None:
    """What is wrong with `arguments` under the schema `parameters`, or None; never raises.

    Arguments that cannot be checked do not fit.
    """
    fit = _simple(parameters)
    if fit is not None and fit.holds(arguments):
        return None
    try:
        errors = _errors(parameters, arguments)
        return violation(exceptions.best_match(errors)) if errors else None
    except Undecidable as undecidable:
        return unchecked(undecidable, arguments)
    except RecursionError:
        return unchecked(bounded.too_much(), arguments)
    except (NotCanonical, InvalidToolDeclaration, Unresolvable):
        return Violation("The tool's own schema is not sound, so no arguments fit it.", None)


def satisfies(condition: dict[str, Any], arguments: dict[str, Any]) -> bool | None:
    """Whether the arguments satisfy a condition; None when that cannot be told in bounded time; never raises.

    All text in both, names included, is compared, matched and measured in one normal form (`normal.py`).
    """
    return satisfies_form(condition, normal_form(arguments))


def normal_form(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """What `satisfies_form` looks at, made once for many conditions; None when it cannot be made; never raises."""
    try:
        return normal.form(arguments)  # type: ignore[no-any-return]
    except (Undecidable, RecursionError):
        return None


def satisfies_form(condition: dict[str, Any], arguments: dict[str, Any] | None) -> bool | None:
    """As `satisfies`, of arguments in normal form."""
    if arguments is None:
        return None
    try:
        return not _errors(normal.form(condition), arguments, CONDITION_STEPS)
    except (Undecidable, RecursionError, NotCanonical, InvalidToolDeclaration, Unresolvable):
        return None


def _errors(
    schema: dict[str, Any], arguments: dict[str, Any], most_steps: int = bounded.MAX_STEPS
) -> list[ValidationError]:
    validator = _validator(canonical(schema))
    bounded.begin(most_steps)
    return list(islice(validator.iter_errors(arguments), _ERRORS_WEIGHED))


def declare_condition(condition: Any) -> None:
    """Raise InvalidToolDeclaration unless `condition` is a schema that `satisfies` can work with."""
    _sized(condition)
    if not isinstance(condition, dict):
        raise InvalidToolDeclaration("the condition must be a JSON Schema, which is an object")
    try:
        _refuse_unsound(normal.form(condition))
    except Undecidable as undecidable:
        raise InvalidToolDeclaration(f"its names or texts {undecidable.why}") from None


def declare(parameters: Any) -> None:
    """Raise InvalidToolDeclaration unless `parameters` is a schema that `check` and every provider can work with."""
    _sized(parameters)
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise InvalidToolDeclaration('the schema must be an object with "type": "object"')
    if parameters.get("additionalProperties") is not False:
        raise InvalidToolDeclaration('the schema must say "additionalProperties": false')
    if parameters.get("$schema", next(iter(_DIALECTS))) not in _DIALECTS:
        raise InvalidToolDeclaration("$schema must be JSON Schema Draft 2020-12, or left out")
    _refuse_unsound(parameters)


def _sized(schema: Any) -> None:
    try:
        size = len(canonical(schema))
    except NotCanonical as error:
        raise InvalidToolDeclaration(f"the schema is not JSON: {error}") from None
    if size > MAX_SCHEMA_BYTES:
        raise InvalidToolDeclaration(f"the schema has {size:,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed")


def _refuse_unsound(schema: dict[str, Any]) -> None:
    """Raise InvalidToolDeclaration for a schema that could not be checked against, whatever its top says."""
    _check_schema(schema)
    targets: dict[str, Any] = {}
    _walk(schema, "#", schema, targets)
    for pointer, target in targets.items():
        _check_schema(target)
        _refuse_loop(pointer, target, schema)


def _check_schema(schema: Any) -> None:
    try:
        if not is_plain(schema):
            Draft202012Validator.check_schema(schema)
    except exceptions.SchemaError as error:
        at = "/".join(str(part) for part in error.absolute_path) or "its top"
        raise InvalidToolDeclaration(f"the schema is not valid at {at}: {error.message[:200]}") from None
    except RecursionError:
        raise InvalidToolDeclaration("the schema is nested too deeply") from None


def _walk(schema: Any, at: str, root: dict[str, Any], targets: dict[str, Any]) -> None:
    """Refuse keywords that cannot be used, unsafe patterns and foreign references, everywhere below `schema`."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            _walk(item, f"{at}/{index}", root, targets)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in _REFUSED_KEYWORDS or (keyword == "$schema" and schema is not root):
            raise InvalidToolDeclaration(f"{at} uses {keyword}, which is not supported")
        if keyword == "$ref" and value not in targets:
            targets[value] = _target(value, root)
            _walk(targets[value], value, root, targets)
        elif keyword in _NAMED:
            for name, item in value.items() if isinstance(value, dict) else ():
                if keyword == "patternProperties":
                    _check_pattern(name, at)
                _walk(item, f"{at}/{keyword}/{name}", root, targets)
        elif keyword == "pattern":
            _check_pattern(value, at)
        elif keyword not in _DATA:
            _walk(value, f"{at}/{keyword}", root, targets)


def _check_pattern(pattern: str, at: str) -> None:
    try:
        ecma.compiled(pattern)
    except ecma.UnsafePattern as error:
        raise InvalidToolDeclaration(f"{at} has a pattern that cannot be used: {error}") from None


def _target(pointer: Any, root: dict[str, Any]) -> Any:
    """The subschema that a local reference names; raises InvalidToolDeclaration."""
    if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
        raise InvalidToolDeclaration(f"$ref {pointer!r:.200} is not local; only #/… is followed")
    found: Any = root
    # As `referencing` finds it: a name may be percent-encoded.
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidToolDeclaration(f"$ref {pointer!r:.200} names nothing in the schema") from None
    if not isinstance(found, dict | bool):
        raise InvalidToolDeclaration(f"$ref {pointer!r:.200} does not name a schema")
    return found


def _refuse_loop(pointer: str, target: Any, root: dict[str, Any]) -> None:
    """Refuse a reference that comes back to itself without going into the value: no check of it would end."""
    seen: set[int] = set()
    waiting = [target]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        if "$ref" in schema:
            ahead = _target(schema["$ref"], root)
            if ahead is target:
                raise InvalidToolDeclaration(f"$ref {pointer!r:.200} refers to itself")
            waiting.append(ahead)
        for keyword in ("allOf", "anyOf", "oneOf"):
            waiting.extend(schema.get(keyword, ()))
        for keyword in ("not", "if", "then", "else"):
            waiting.append(schema.get(keyword))
        waiting.extend(schema.get("dependentSchemas", {}).values())


def _simple(schema: dict[str, Any]) -> simple.Fit | None:
    try:
        return _simple_of(orjson.dumps(schema, option=_AS_IT_IS))
    except orjson.JSONEncodeError:
        return None


@lru_cache(maxsize=1024)
def _simple_of(schema: bytes) -> simple.Fit | None:
    """What tells at once that arguments fit, where the schema is sound and simple; by its JSON, as `_validator`."""
    own = orjson.loads(schema)
    try:
        _validator(canonical(own))
    except (RecursionError, NotCanonical, InvalidToolDeclaration, Unresolvable):
        return None
    return simple.Fit.of(own)


@lru_cache(maxsize=1024)
def _validator(schema: bytes) -> Any:
    """The compiled validator of a schema, by its canonical bytes: a caller's later change cannot reach it."""
    own = orjson.loads(schema)
    if not isinstance(own, dict):
        raise InvalidToolDeclaration("the schema must be an object")
    _refuse_unsound(own)
    # With a $schema, jsonschema would look up its own validator class and leave ours.
    own.pop("$schema", None)
    return bounded.BoundedValidator(own, registry=referencing.Registry(), format_checker=FORMATS)
