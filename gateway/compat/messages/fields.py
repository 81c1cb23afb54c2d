"""Requests of Anthropic's API, read field by field; what is wrong is said as Anthropic says it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.runs.prompting.client_request import BadRequest

REQUIRED = "Field required"
_NOT_PERMITTED = "Extra inputs are not permitted"
# Requests are stored inside of other JSON, so what can barely be written is already too deep.
_ROOM = 16


def wrong(at: str, why: str) -> BadRequest:
    """The refusal of what is at a place in the request."""
    return BadRequest(f"{at}: {why}", at)


def refuse_depth(given: dict[str, Any]) -> None:
    """Refuse what was read but could not be written again. Raises BadRequest."""
    wrapped: Any = given
    for _ in range(_ROOM):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        raise BadRequest("The request body is nested too deeply.") from None


def one_of(names: Collection[str]) -> str:
    """Names as Anthropic lists them: 'a', 'b' or 'c'."""
    quoted = [f"'{name}'" for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object of a request, at its place in it. A field that is null counts as not given.

    Every method raises BadRequest when the field is not what it should be.
    """

    values: dict[str, Any]
    at: str = ""

    @classmethod
    def of(cls, value: object, at: str) -> "Fields":
        """The object that `value` must be."""
        if not isinstance(value, dict):
            raise wrong(at, "Input should be a valid dictionary")
        return cls(value, at)

    def place(self, name: str) -> str:
        """Where a field is."""
        return f"{self.at}.{name}" if self.at else name

    def need(self, name: str) -> Any:
        """A field that must be there."""
        if self.values.get(name) is None:
            raise wrong(self.place(name), REQUIRED)
        return self.values[name]

    def text(self, name: str) -> str | None:
        """A text, which may be empty."""
        value: str | None = self._typed(name, str, "string")
        return value

    def need_text(self, name: str) -> str:
        """A text that must be there and not be empty."""
        self.need(name)
        value = self.text(name)
        if not value:
            raise wrong(self.place(name), "String should have at least 1 character")
        return value

    def boolean(self, name: str) -> bool | None:
        """True or false."""
        value: bool | None = self._typed(name, bool, "boolean")
        return value

    def number(self, name: str, lowest: float, highest: float | None = None) -> float | None:
        """A number within its bounds."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(self.place(name), "Input should be a valid number")
        if value < lowest:
            raise wrong(self.place(name), f"Input should be greater than or equal to {lowest:g}")
        if highest is not None and value > highest:
            raise wrong(self.place(name), f"Input should be less than or equal to {highest:g}")
        return value

    def integer(self, name: str, lowest: int) -> int | None:
        """A whole number within its bounds."""
        value = self.number(name, lowest)
        if value is not None and not isinstance(value, int):
            raise wrong(self.place(name), "Input should be a valid integer")
        return value

    def object(self, name: str) -> "Fields | None":
        """An object."""
        value = self._typed(name, dict, "dictionary")
        return None if value is None else Fields(value, self.place(name))

    def need_object(self, name: str) -> "Fields":
        """An object that must be there."""
        return Fields.of(self.need(name), self.place(name))

    def array(self, name: str) -> list[Any]:
        """A list; an empty one where none is given."""
        return self._typed(name, list, "list") or []

    def rest(self, *known: str) -> dict[str, Any]:
        """All other fields, as they are."""
        return {name: value for name, value in self.values.items() if value is not None and name not in known}

    def only(self, *known: str) -> None:
        """Refuse any other field."""
        for name in self.values:
            if name not in known:
                raise wrong(self.place(name), _NOT_PERMITTED)

    def _typed(self, name: str, kind: type, called: str) -> Any:
        value = self.values.get(name)
        if value is not None and not isinstance(value, kind):
            raise wrong(self.place(name), f"Input should be a valid {called}")
        return value
