"""JSON as jsonb gives it back: a number is written out in full there, and 1e300 comes as an integer of 301 digits.

An integer that no double carries exactly cannot be written into JSON again by everybody, so none leaves this
module. Everything that reads jsonb reads it through here: the connections of `tenants.scope.transactions` by `loads`,
Django's models and annotations by `JSONField`.
"""

import json
import math
from typing import Any

import orjson
from django.db import models
from django.db.models.fields.json import KeyTransform
from psycopg.types.json import Jsonb

# Integers up to this are exact as doubles too.
_MOST = 2**53 - 1
_DIGITS = len(str(-_MOST))
# A number with fewer digits in a row is the same to every reader.
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_MANY = b"0" * (_DIGITS - 1)


def number(text: str) -> int | float | str:
    """A number as it was stored: what was a double, and comes with many digits, is a double again.

    What no double can hold, which nothing here writes, is its digits as text.
    """
    if len(text) <= _DIGITS and text.lstrip("-").isdigit():
        whole = int(text)
        if -_MOST <= whole <= _MOST:
            return whole
    value = float(text)
    return value if math.isfinite(value) else text


class Decoder(json.JSONDecoder):
    """Reads jsonb for Django's JSONField."""

    def __init__(self) -> None:
        super().__init__(parse_int=number, parse_float=number)


_decoder = Decoder()


def loads(data: str | bytes) -> Any:
    """The value of a jsonb column, for psycopg."""
    if _MANY not in (data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).translate(_ZEROS):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # Deeper than orjson goes, or with what it does not take for text.
    return _decoder.decode(data if isinstance(data, str) else data.decode("utf-8", "surrogatepass"))


def plain(value: Any) -> Jsonb:
    """A value that holds nothing but what JSON can say, such as one that came out of jsonb, at a fifth of the cost.

    Others are for Jsonb itself: a number that is none would become a null here, and is refused there.
    """
    return Jsonb(value, _written)


def _written(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value).encode()


class JSONField(models.JSONField):  # type: ignore[type-arg]
    """Django's JSONField, read by Decoder; to migrations it is Django's own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"decoder": Decoder} | options)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The value, read by `loads`."""
        if not isinstance(value, str) or isinstance(expression, KeyTransform):
            return super().from_db_value(value, expression, connection)
        return loads(value)

    def deconstruct(self) -> Any:
        """As Django's own field."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options
