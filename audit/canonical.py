"""RFC 8785 canonical JSON: the one byte form of a value, which every hash of the audit is taken over."""

import hashlib
from typing import Any

import orjson
import rfc8785

# PostgreSQL's jsonb, orjson (254) and Python's stack (1,000 frames) all stop somewhere; this stops before any of them.
MAX_DEPTH = 200

_PLAIN = frozenset({str, int, bool, type(None)})
_CONTAINERS = (dict, list, tuple)
_PLAIN_OR_NESTED = _PLAIN.union(_CONTAINERS)
_FAST = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonical(ValueError):
    """The value has no RFC 8785 form: an integer beyond ±(2^53-1), NaN, infinity, a lone surrogate, a type that
    JSON does not have, a key that is not a string, or more than MAX_DEPTH levels."""


def _is_fast(value: Any) -> bool:
    """Whether orjson is known to write `value` as RFC 8785 does; raises NotCanonical when it is nested too deeply.

    They differ in how floats are written, in the order of keys beyond the Basic Multilingual Plane (hence
    ASCII keys only), and in the Python types that they take (hence exact types only).
    """
    fast = True
    # Depth first: a value that contains itself, or another one many times over, soon shows how deep it is.
    ahead: list[tuple[Any, int]] = [((value,), 0)]
    while ahead:
        items, depth = ahead.pop()
        if depth > MAX_DEPTH:
            raise NotCanonical(f"The value is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(items, dict):
            fast = fast and _has_plain_keys(items)
            items = items.values()
        if not _PLAIN.issuperset(map(type, items)):
            # Asked of every branch, whatever the answer so far, because the depth is checked on the way.
            fast = fast and _PLAIN_OR_NESTED.issuperset(map(type, items))
            ahead += [(item, depth + 1) for item in items if isinstance(item, _CONTAINERS)]
    return fast


def _has_plain_keys(value: dict[Any, Any]) -> bool:
    try:
        return "".join(value).isascii()
    except TypeError:
        return False


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value; raises NotCanonical when it has none."""
    if _is_fast(value):
        try:
            return orjson.dumps(value, option=_FAST)
        except orjson.JSONEncodeError:
            pass  # The slow way below finds out what is wrong and says so.
    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError) as error:
        raise NotCanonical(_reason(error)) from None


def sha256_hex(value: Any) -> str:
    """The SHA-256 of the canonical bytes, as 64 lower-case hexadecimal digits; raises NotCanonical."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, rfc8785.IntegerDomainError) or "integer string conversion" in str(error):
        return "An integer is beyond ±(2^53-1), which JSON numbers cannot carry exactly."
    if isinstance(error, rfc8785.FloatDomainError):
        return "NaN and infinity are not JSON numbers."
    if isinstance(error, UnicodeError) or "non-UTF-8" in str(error):
        return "A string holds a lone surrogate, which UTF-8 cannot carry."
    return f"The value is not JSON: {error}"
