"""Keywords of JSON Schema whose work is counted, so that a check ends in bounded time whatever it is given.

`begin` says how much one check in this thread may do; what takes more raises Undecidable.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators

from audit.canonical import canonical
from tools.schemas.patterns import ecma, linear
from tools.schemas.undecidable import Undecidable

# Keywords applied in one check: far beyond any honest pair, and reached within half a second.
MAX_STEPS = 100_000
# What the patterns of one check may take together, in units of 20 nanoseconds, if each takes as long as it can.
MAX_MATCHING = linear.MAX_WORK
# Bytes made canonical in the time of applying one keyword.
_BYTES_A_KEYWORD = 64
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class _Steps(threading.local):
    left = 0
    matching = 0


_steps = _Steps()


def begin(most_steps: int = MAX_STEPS) -> None:
    """Begin a check of at most so many keywords."""
    _steps.left = most_steps
    _steps.matching = MAX_MATCHING


def too_much() -> Undecidable:
    """Why a check that ran out of steps has no answer."""
    return Undecidable("and the tool's schema are too complex to be checked against each other")


def _counted(keyword: Keyword) -> Keyword:
    def applied(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
        _spend(len(value) if isinstance(value, list) else 1)
        return keyword(validator, value, instance, schema)

    return applied


def _spend(steps: int) -> None:
    _steps.left -= steps
    if _steps.left < 0:
        raise too_much()


def _matches(pattern: str, subject: str) -> bool:
    """`ecma.matches`, its worst case charged to the check; raises Undecidable."""
    _spend(1)
    ready = ecma.compiled(pattern)
    work = ready.work(subject)
    # What is too much by itself is said so by `matches`, in better words.
    if work <= MAX_MATCHING:
        _steps.matching -= work
        if _steps.matching < 0:
            raise too_much()
    return ready.matches(subject)


def _pattern(validator: Any, value: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(value, instance):
        yield ValidationError(f"must match the pattern {value}")


def _extras(instance: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    known = schema.get("properties", {})
    named = schema.get("patternProperties", ())
    return [key for key in instance if key not in known and not any(_matches(each, key) for each in named)]


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    _spend(len(instance) // 10)
    for key in _extras(instance, schema):
        if value is False:
            yield ValidationError("is not a parameter of this tool", path=(key,))
        else:
            yield from validator.descend(instance[key], value, path=key)


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in value.items():
            for key, item in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(item, subschema, path=key, schema_path=pattern)


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # jsonschema compares unsortable items pair by pair; canonical bytes are equal when JSON values are.
    if value and isinstance(instance, list):
        seen = {_canonical(item) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError("must not hold the same item twice")


def _canonical(item: Any) -> bytes:
    found = canonical(item)
    _spend(1 + len(found) // _BYTES_A_KEYWORD)
    return found


_OWN: dict[str, Keyword] = {
    "pattern": _pattern,
    "additionalProperties": _additional_properties,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}
BoundedValidator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {name: _counted(keyword) for name, keyword in (dict(Draft202012Validator.VALIDATORS) | _OWN).items()},
)
