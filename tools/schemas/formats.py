"""The string formats that schemas may assert, strictly and in bounded time; any other format says nothing.
A text that is too long for its check raises Undecidable.

RFC 3339 `date` and `date-time` (with an offset), `date-time-local` (OpenAPI's registry: no offset), `time`, `duration`,
`email`, `hostname`, `ipv4`, `ipv6`, `uri`, `uri-reference` and `uuid`.
"""

import re
from collections.abc import Callable
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker

from tools.schemas.undecidable import Undecidable

# Some of the checks are quadratic. A longer text is of none of the formats that have a greatest length.
_MAX_LENGTH = 2048
_ENDLESS = frozenset({"duration", "time", "uri", "uri-reference"})
_LOCAL = r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?"
_DATE_TIME = re.compile(rf"{_LOCAL}(?:[Zz]|[+-]\d{{2}}:\d{{2}})", re.ASCII)
_DATE_TIME_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?", re.ASCII)
_EMAIL = re.compile(
    r"""[^\s@<>()\[\]\\,;:"\x00-\x1f\x7f]{1,64}@(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9-]{1,63})*"""
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_STANDARD = ("date", "time", "duration", "hostname", "ipv4", "ipv6", "uri", "uri-reference")

FORMATS = FormatChecker(formats=())


def _is_moment(shape: re.Pattern[str]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        return bool(shape.fullmatch(text)) and datetime.fromisoformat(text.upper()) is not None

    return check


def _add(name: str, check: Callable[[str], object], raises: type[Exception] | tuple[type[Exception], ...]) -> None:
    def bounded(instance: object) -> bool:
        if not isinstance(instance, str):
            return True
        # Several of the ready-made checks accept a trailing newline.
        if any(character.isspace() for character in instance):
            return False
        if len(instance) > _MAX_LENGTH:
            if name in _ENDLESS:
                raise Undecidable(
                    f"is too long to be checked as {name}; at most {_MAX_LENGTH:,} characters can be", instance
                )
            return False
        return bool(check(instance))

    FORMATS.checks(name, raises=raises)(bounded)


for _name in _STANDARD:
    _add(_name, *Draft202012Validator.FORMAT_CHECKER.checkers[_name])
_add("date-time", _is_moment(_DATE_TIME), ValueError)
_add("date-time-local", _is_moment(_DATE_TIME_LOCAL), ValueError)
_add("email", _EMAIL.fullmatch, ())
_add("uuid", _UUID.fullmatch, ())
