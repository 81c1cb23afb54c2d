"""What a model costs, as a tenant or the operator says: US dollars per million tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of input and output, and of input that the provider had in its cache (None: as other
    input). `source` is tenant or operator, `version` that of their settings."""

    input: Decimal
    output: Decimal
    cached: Decimal | None
    source: str
    version: int

    @classmethod
    def of(cls, row: Mapping[str, Any], source: str, version: int) -> "Price":
        """Out of a member of `model_settings.prices`."""
        cached = row.get("cached")
        return cls(
            Decimal(row["input"]), Decimal(row["output"]), None if cached is None else Decimal(cached), source, version
        )


def amount(given: object) -> str | None:
    """A price as it is stored: a decimal number from 0 to 999999.999999 with up to six places; None for anything else.

    It may come as text or as a number.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str | Decimal):
        return None
    try:
        text = format(Decimal(str(given)), "f")
    except ArithmeticError:
        return None
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if _AMOUNT.fullmatch(text) else None
