"""The one JSON-RPC message in the body of a request, read more strictly than the SDK reads it."""

import json
from typing import Any, NamedTuple, NoReturn

from gateway.mcp.errors import BadMessage


class Message(NamedTuple):
    """A request, or without `id` a notification; without `method` it is what the client answers to a request of ours,
    whose `result` is None where it refused."""

    method: str
    id: str | int | None
    params: dict[str, Any]
    result: dict[str, Any] | None = None


def read(body: bytes) -> Message:
    """The message in a body.

    Raises BadMessage for what is not JSON, names a key twice in an object (the SDK and the gates could see different
    values), or is no single request or notification.
    """
    try:
        value = _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"The body is not JSON that Toolgate takes: {_words(error)}", parsed=False) from None
    if isinstance(value, list):
        raise BadMessage("Batches are not answered; send each message as a POST of its own.")
    if isinstance(value, dict) and value.get("jsonrpc") == "2.0" and _answers(value):
        return Message("", value["id"], {}, value.get("result"))
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not isinstance(value.get("method"), str):
        raise BadMessage('The body must be a JSON-RPC request or notification: {"jsonrpc": "2.0", "method": …}.')
    request_id = value.get("id")
    if "id" in value and (isinstance(request_id, bool) or not isinstance(request_id, str | int)):
        raise BadMessage("The id of a request must be a string or an integer.")
    params = value.get("params")
    if "params" in value and not isinstance(params, dict):
        raise BadMessage("params must be an object.")
    return Message(value["method"], request_id, params or {})


def _answers(value: dict[str, Any]) -> bool:
    """Whether this is a response, by an id that we may have given."""
    said = isinstance(value.get("result"), dict) or isinstance(value.get("error"), dict)
    return "method" not in value and isinstance(value.get("id"), str) and said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice in one object.")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number.")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant)


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply."
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8."
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}."
    # Python refuses to read an integer of thousands of digits.
    return "an integer is too large." if "integer string conversion" in str(error) else str(error)
