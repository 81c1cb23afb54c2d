"""The strict reading of what a model sent as a tool's arguments: text in, a plain dict out, or ToolValidationError."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from tools.errors import ToolValidationError

# Room for a note of 100,000 characters with its escapes; parsing this much still takes only a few milliseconds.
MAX_BYTES = 256 * 1024
# No sensible tool nests deeper; PostgreSQL, orjson and the schema check all go well beyond it without harm.
MAX_DEPTH = 64
# The last integer that a JSON number, and so RFC 8785, carries exactly.
MAX_INTEGER = 2**53 - 1
# Every integer with more characters than "-9007199254740991" is too large, whatever its digits.
_INTEGER_CHARACTERS = len(str(-MAX_INTEGER))
# Enough of a name to recognise it by; a model can send one as long as its whole text.
_SHOWN_CHARACTERS = 100

_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def parse(raw: str) -> dict[str, Any]:
    """The JSON object in `raw`; raises ToolValidationError, and nothing else, for anything but one."""
    value = read(raw)
    require_object(value)
    return value  # type: ignore[no-any-return]


def read(raw: str) -> Any:
    """The JSON value in `raw` ("" is {}, which models send to a tool without parameters).

    Raises ToolValidationError, and nothing else, for text that is not JSON; over MAX_BYTES; deeper than MAX_DEPTH;
    with a key twice in an object; with a number that JSON cannot carry exactly; or with a control character other
    than newline and tab, or a lone surrogate, in a string or key. Its `field` is a dotted path, "tags.0".
    """
    if len(raw) > MAX_BYTES or (not raw.isascii() and len(raw.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        raise ToolValidationError(f"The arguments are larger than {MAX_BYTES:,} bytes; send less.")
    if not raw.strip(" \t\r\n"):
        return {}
    try:
        value = _DECODER.decode(raw)
    except json.JSONDecodeError as error:
        raise ToolValidationError(f"The arguments are not valid JSON: {_words(error)}.") from None
    except RecursionError:
        raise _too_deep() from None
    _check(value if isinstance(value, dict | list) else [value])
    return value


def require_object(value: Any) -> None:
    """Raises ToolValidationError when a JSON value is no object."""
    if not isinstance(value, dict):
        raise ToolValidationError(f"The arguments must be a JSON object, not {_kind(value)}.")


def shown(name: str) -> str:
    """A name from outside, safe to store and show: control characters and surrogates escaped, cut when long."""
    escaped = _REFUSED.sub(lambda found: f"\\u{ord(found.group()):04x}", name[: _SHOWN_CHARACTERS + 1])
    return escaped if len(name) <= _SHOWN_CHARACTERS else escaped[:_SHOWN_CHARACTERS] + "…"


def _integer(text: str) -> int:
    if len(text) <= _INTEGER_CHARACTERS:
        number = int(text)
        if -MAX_INTEGER <= number <= MAX_INTEGER:
            return number
    raise ToolValidationError(
        f"The integer {shown(text)} is beyond ±{MAX_INTEGER}, which JSON cannot carry exactly; send it as a string."
    )


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ToolValidationError(f"The number {shown(text)} is too large.")
    return number


def _constant(text: str) -> NoReturn:
    raise ToolValidationError(f"The arguments are not valid JSON: {text} is not a JSON number.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ToolValidationError(f'The key "{shown(key)}" occurs twice in one object.', shown(key))
            seen.add(key)
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def _check(value: dict[str, Any] | list[Any]) -> None:
    """Refuse what is JSON but cannot be stored or shown, and what is nested too deeply."""
    # A loop and not a recursion: whatever calls this may already be deep in the stack.
    branches: list[tuple[Any, str, int]] = [(value, "", 1)]
    while branches:
        branch, path, depth = branches.pop()
        if depth > MAX_DEPTH:
            raise _too_deep()
        for name, item in _members(branch):
            if type(name) is str and _REFUSED.search(name):
                raise _refused(name, path + shown(name), "a key")
            if type(item) is str:
                if _REFUSED.search(item):
                    raise _refused(item, f"{path}{name}", "a string")
            elif type(item) is dict or type(item) is list:
                branches.append((item, f"{path}{name}."[-_SHOWN_CHARACTERS:], depth + 1))


def is_plain(text: str) -> bool:
    """Whether the text has no control characters but newline and tab, and no lone surrogate."""
    return _REFUSED.search(text) is None


def _members(branch: Any) -> Iterator[tuple[str | int, Any]]:
    return iter(branch.items()) if type(branch) is dict else iter(enumerate(branch))


def _refused(text: str, path: str, what: str) -> ToolValidationError:
    found = _REFUSED.search(text)
    code = ord(found.group()) if found else 0
    reason = "a lone surrogate" if 0xD800 <= code <= 0xDFFF else "a control character; only newline and tab are allowed"
    return ToolValidationError(f"The arguments hold \\u{code:04x} in {what}: {reason}.", shown(path))


def _too_deep() -> ToolValidationError:
    return ToolValidationError(f"The arguments are nested more than {MAX_DEPTH} levels deep.")


def _words(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()):
        return "they end too early"
    return f"{error.msg} at character {error.pos + 1}"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"
