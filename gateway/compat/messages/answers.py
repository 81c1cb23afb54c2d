"""Answers and errors in the shapes of Anthropic's."""

from typing import Any

import orjson

from gateway.compat.interface import Reply
from gateway.providers.anthropic import blocks
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import SuggestedCall, Usage

_STOP_REASONS = {"tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
# A provider's own fields that go beside the stop reason, in a stream's last delta.
_BESIDE_STOP = frozenset({"stop_reason", "stop_details", "container"})


def body(reply: Reply) -> dict[str, Any]:
    """The message object, with `toolgate` beside its own fields."""
    content = [block for turn in reply.turns for block in blocks.of(turn.text, turn.opaque)]
    if reply.notice:
        content.append(blocks.text(reply.notice))
    return {
        **begun(reply.id, reply.model),
        "content": [*content, *map(tool_use, reply.calls)],
        **stop(reply),
        **beside(reply),
        "usage": usage(reply.usage),
        "toolgate": reply.toolgate,
    }


def begun(id: str, model: str) -> dict[str, Any]:
    """A message before any content."""
    return {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(Usage()),
    }


def stop(reply: Reply) -> dict[str, Any]:
    """Why the message ended, and what the provider says of it."""
    own = {name: value for name, value in _own(reply).items() if name in _BESIDE_STOP}
    reason = _STOP_REASONS.get(reply.finish_reason) or ("stop_sequence" if reply.stop_sequence else "end_turn")
    if reply.calls:
        # Whatever else the provider says, the client's turn has come.
        own.pop("stop_reason", None)
    return {"stop_reason": reason, "stop_sequence": reply.stop_sequence, **own}


def beside(reply: Reply) -> dict[str, Any]:
    """The other fields of the provider's own."""
    return {name: value for name, value in _own(reply).items() if name not in _BESIDE_STOP}


def _own(reply: Reply) -> dict[str, Any]:
    return reply.extra if reply.family == FAMILY else {}


def usage(counted: Usage) -> dict[str, Any]:
    """Tokens as Anthropic counts them: what was read from a cache is not among `input_tokens`."""
    details = {"output_tokens_details": {"thinking_tokens": counted.reasoning_tokens}}
    return {
        "input_tokens": max(counted.input_tokens - counted.cached_tokens, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counted.cached_tokens,
        "output_tokens": counted.output_tokens,
        **(details if counted.reasoning_tokens else {}),
    }


def tool_use(call: SuggestedCall) -> dict[str, Any]:
    """A call of the client's own tool."""
    extra = call.extra if call.family == FAMILY else {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments), **extra}


def _input(arguments: str) -> dict[str, Any]:
    """The arguments as an object; what is none, under the name that Anthropic gives it, so that no tool runs on what
    its model never said."""
    try:
        value = orjson.loads(arguments or "{}")
        orjson.dumps([[value]])
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}


def error(status: int, message: str, field: str | None = None) -> dict[str, Any]:
    """`{"type": "error", "error": {type, message}}`."""
    kind = _ERRORS.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    if field and field not in message:
        message = f"{field}: {message}"
    return {"type": "error", "error": {"type": kind, "message": message}}
