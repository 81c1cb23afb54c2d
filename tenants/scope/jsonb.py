"""JSON as jsonb gives it back: a number is written out in full there, and 1e300 comes as an integer of 301 digits.

An integer that no double carries exactly cannot be written into JSON again by everybody, so none leaves this
module. Everything that reads jsonb reads it through here: the connections of `tenants.scope.transactions` by `loads`,
Django's models and annotations by `JSONField`.
"""

import json
import math
from typing import Any

from django.db import models

# Integers up to this are exact as doubles too.
_MOST = 2**53 - 1
_DIGITS = len(str(-_MOST))


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
    return _decoder.decode(data if isinstance(data, str) else data.decode("utf-8", "surrogatepass"))


class JSONField(models.JSONField):  # type: ignore[type-arg]
    """Django's JSONField, read by Decoder; to migrations it is Django's own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"decoder": Decoder} | options)

    def deconstruct(self) -> Any:
        """As Django's own field."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options
