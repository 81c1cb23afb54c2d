"""A client's request as JSON text and back, as `run_requests` keeps it: what is decoded equals what was encoded."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

import orjson

from gateway.providers import interface as words
from gateway.runs.prompting.client_request import ClientRequest

_KINDS = (
    *(ClientRequest, words.SystemMessage, words.UserMessage, words.AssistantMessage, words.ToolMessage),
    *(words.SuggestedCall, words.Text, words.Image, words.Document, words.Opaque, words.ClientTool),
    *(words.ToolChoice, words.ResponseFormat, words.Options),
)
_BY_NAME: dict[str, type] = {kind.__name__: kind for kind in _KINDS}
_FIELDS: dict[type, tuple[str, ...]] = {kind: tuple(each.name for each in fields(kind)) for kind in _KINDS}
_READ: dict[type, Callable[[Any], tuple[Any, ...]]] = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}
# What is written as it is.
_PLAIN = frozenset({str, int, float, bool, type(None)})
# What marks an object as one of ours; JSON of the client's own is wrapped, and so never taken for one.
_KIND = "$"
_JSON = "json"


def dumps(request: ClientRequest) -> str:
    """The request as JSON text."""
    return orjson.dumps(_encoded(request)).decode()


def loads(text: str) -> ClientRequest:
    """The request that `dumps` wrote."""
    request = _decoded(orjson.loads(text))
    assert isinstance(request, ClientRequest)
    return request


def _encoded(value: Any) -> Any:
    kind = type(value)
    if kind in _FIELDS:
        written: dict[str, Any] = {_KIND: kind.__name__}
        for name, each in zip(_FIELDS[kind], _READ[kind](value), strict=True):
            written[name] = each if type(each) in _PLAIN else _encoded(each)
        return written
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, dict):
        return {_KIND: _JSON, "value": value}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    if not isinstance(value, dict):
        return value
    if value[_KIND] == _JSON:
        return value["value"]
    return _BY_NAME[value[_KIND]](**{name: _decoded(item) for name, item in value.items() if name != _KIND})
