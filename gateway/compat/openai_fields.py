"""Requests of OpenAI's APIs, read field by field; what is wrong is named as OpenAI does, as in `messages[0].content`.

BadRequest                 400 invalid_request
├── MissingField           400 missing_required_parameter
├── WrongType              400 invalid_type
└── WrongValue             400 invalid_value
"""

from dataclasses import dataclass
from typing import Any

import orjson

from gateway.runs.prompting.client_request import BadRequest


class MissingField(BadRequest):
    """A field that must be there is not, or is null."""

    code = "missing_required_parameter"

    def __init__(self, field: str):
        super().__init__(f"Missing required parameter: '{field}'.", field)


class WrongType(BadRequest):
    """A field holds another kind of value than it may."""

    code = "invalid_type"

    def __init__(self, field: str, expected: str, value: object):
        super().__init__(f"Invalid type for '{field}': expected {expected}, but got {_kind(value)} instead.", field)


class WrongValue(BadRequest):
    """A field's value makes no sense, is out of bounds, or asks for what cannot be done."""

    code = "invalid_value"

    def __init__(self, field: str, why: str):
        super().__init__(f"Invalid value for '{field}': {why}", field)


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object of a request, at its place in it. A field that is null counts as not given."""

    values: dict[str, Any]
    at: str = ""

    @classmethod
    def of(cls, value: object, at: str) -> "Fields":
        """The object that `value` must be."""
        if not isinstance(value, dict):
            raise WrongType(at, "an object", value)
        return cls(value, at)

    def place(self, name: str) -> str:
        """Where a field is, for whoever sent it."""
        return f"{self.at}.{name}" if self.at else name

    def need(self, name: str) -> Any:
        """A field that must be there."""
        value = self.values.get(name)
        if value is None:
            raise MissingField(self.place(name))
        return value

    def text(self, name: str, longest: int | None = None) -> str | None:
        """A text of up to `longest` characters."""
        value = self._typed(name, str, "a string")
        return None if value is None else checked(value, self.place(name), longest)

    def need_text(self, name: str, longest: int | None = None) -> str:
        """A text that must be there and not be empty."""
        self.need(name)
        value = self.text(name, longest)
        if not value:
            raise WrongValue(self.place(name), "it must not be empty.")
        return value

    def boolean(self, name: str) -> bool | None:
        """True or false."""
        value: bool | None = self._typed(name, bool, "a boolean")
        return value

    def number(self, name: str, lowest: float, highest: float) -> float | None:
        """A number within its bounds."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WrongType(self.place(name), "a number", value)
        if not lowest <= value <= highest:
            raise WrongValue(self.place(name), f"it must be from {lowest:g} to {highest:g}.")
        return value

    def integer(self, name: str, lowest: int, highest: int) -> int | None:
        """A whole number within its bounds."""
        value = self.number(name, lowest, highest)
        if value is not None and not isinstance(value, int):
            raise WrongType(self.place(name), "an integer", value)
        return value

    def object(self, name: str) -> "Fields | None":
        """An object."""
        value = self._typed(name, dict, "an object")
        return None if value is None else Fields(value, self.place(name))

    def need_object(self, name: str) -> "Fields":
        """An object that must be there."""
        return Fields.of(self.need(name), self.place(name))

    def array(self, name: str, most: int) -> list[Any]:
        """An array of up to `most` items; an empty one where none is given."""
        value: list[Any] = self._typed(name, list, "an array") or []
        if len(value) > most:
            raise WrongValue(self.place(name), f"it may have up to {most:,} items, but has {len(value):,}.")
        return value

    def rest(self, *known: str) -> dict[str, Any]:
        """All other fields, as they are."""
        return {name: value for name, value in self.values.items() if value is not None and name not in known}

    def _typed(self, name: str, kind: type, expected: str) -> Any:
        value = self.values.get(name)
        if value is not None and not isinstance(value, kind):
            raise WrongType(self.place(name), expected, value)
        return value


def checked(value: str, at: str, longest: int | None = None) -> str:
    """A text of up to `longest` characters that can be stored."""
    if longest is not None and len(value) > longest:
        raise WrongValue(at, f"it may have up to {longest:,} characters, but has {len(value):,}.")
    if "\x00" in value:
        raise WrongValue(at, "it must not hold NUL characters.")
    return value


def refuse_depth(given: dict[str, Any]) -> None:
    """Refuse what was read but could not be written again; it is written inside of others, so with room above."""
    try:
        orjson.dumps([[[[[[[[given]]]]]]]])
    except orjson.JSONEncodeError:
        raise BadRequest("The request is nested too deep.") from None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list) else "an object"
