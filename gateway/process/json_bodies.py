"""JSON out of a request's body, for every API."""

from typing import Any

import orjson


class NotJSON(ValueError):
    """The body is not JSON that Toolgate takes; the message says why."""


def read(body: bytes) -> Any:
    """The value that a body holds. Raises NotJSON, also for one that is nested deeper than it could be written again
    (254 levels)."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotJSON(f"The body is not valid JSON: {error}") from None
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise NotJSON("The body is nested too deeply.") from None
    return value
