"""JSON as jsonb gives it back: a number is written out in full there, and 1e300 comes as an integer of 301 digits."""

import json
from typing import Any

# Integers of fewer digits are exact as doubles too.
_DIGITS = 16


def number(text: str) -> int | float:
    """An integer as it was stored: what was a double, and comes with many digits, is a double again."""
    return int(text) if len(text) < _DIGITS else float(text)


def loads(data: str | bytes) -> Any:
    """The value of a jsonb column, for psycopg."""
    return json.loads(data, parse_int=number)


class Decoder(json.JSONDecoder):
    """The same for Django's JSONField."""

    def __init__(self) -> None:
        super().__init__(parse_int=number)
