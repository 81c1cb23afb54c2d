"""The pieces that whole and streamed chat completions are made of."""

from typing import Any

from gateway.compat.interface import Reply
from gateway.providers.interface import ClientTool, Opaque, SuggestedCall, Usage
from gateway.providers.openai.answers import ASIDES, OF_ANSWER, OF_CHOICE, OF_MESSAGE

BETWEEN_TURNS = "\n\n"


def echo(tools: tuple[ClientTool, ...], legacy: bool) -> dict[str, Any]:
    """What of a request the shape of its answer depends on."""
    custom = [tool.name for tool in tools if tool.raw.get("type") == "custom"]
    return ({"legacy": True} if legacy else {}) | ({"custom": custom} if custom else {})


def completion_id(run_id: str) -> str:
    """A completion's id as OpenAI's look."""
    return f"chatcmpl-{run_id}"


def text(reply: Reply) -> str:
    """All that was said, and the notice."""
    said = [turn.text for turn in reply.turns if turn.text]
    return BETWEEN_TURNS.join([*said, reply.notice] if reply.notice else said)


def extra(reply: Reply, wanted: dict[str, type]) -> dict[str, Any]:
    """The provider's own fields of one kind."""
    if reply.family != "openai":
        return {}
    return {name: reply.extra[name] for name in wanted if name in reply.extra}


def aside(part: Opaque) -> tuple[str, Any] | None:
    """The field that a part goes into, and what goes there; None where chat completions have no place for it."""
    name = part.raw.get("type")
    return (name, part.raw[name]) if part.family == "openai" and name in ASIDES else None


def call(made: SuggestedCall, echoed: dict[str, Any]) -> dict[str, Any]:
    """A call of the client's own tool."""
    given = made.extra if made.family == "openai" else {}
    if made.name in echoed.get("custom", ()):
        custom = {"name": made.name, "input": made.arguments}
        return {**given, "id": made.id, "type": "custom", "custom": custom}
    function = {"name": made.name, "arguments": made.arguments}
    return {**given, "id": made.id, "type": "function", "function": function}


def finish_reason(reply: Reply, echoed: dict[str, Any]) -> str:
    """Why the answer ended, as OpenAI's finish reasons have it."""
    if reply.finish_reason in ("length", "content_filter"):
        return reply.finish_reason
    if not reply.calls:
        return "stop"
    return "function_call" if echoed.get("legacy") else "tool_calls"


def usage(counted: Usage) -> dict[str, Any]:
    """Tokens as OpenAI counts them."""
    return {
        "prompt_tokens": counted.input_tokens,
        "completion_tokens": counted.output_tokens,
        "total_tokens": counted.input_tokens + counted.output_tokens,
        "prompt_tokens_details": {"cached_tokens": counted.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": counted.reasoning_tokens},
    }


def body(reply: Reply) -> dict[str, Any]:
    """The chat.completion object, with `toolgate` beside OpenAI's fields."""
    choice = {
        "index": 0,
        "message": _message(reply),
        "logprobs": None,
        **extra(reply, OF_CHOICE),
        "finish_reason": finish_reason(reply, reply.echo),
    }
    return {
        "id": completion_id(reply.id),
        "object": "chat.completion",
        "created": reply.created,
        "model": reply.model,
        "choices": [choice],
        "usage": usage(reply.usage),
        **extra(reply, OF_ANSWER),
        "toolgate": reply.toolgate,
    }


def _message(reply: Reply) -> dict[str, Any]:
    said = text(reply)
    message: dict[str, Any] = {"role": "assistant", "content": said, "refusal": None, **extra(reply, OF_MESSAGE)}
    for part in (part for turn in reply.turns for part in turn.opaque):
        if found := aside(part):
            name, value = found
            message[name] = message[name] + value if message.get(name) else value
    if message["refusal"] == said or (reply.calls and not said):
        message["content"] = None
    if reply.calls and reply.echo.get("legacy"):
        # The older shape has room for one.
        message["function_call"] = {"name": reply.calls[0].name, "arguments": reply.calls[0].arguments}
    elif reply.calls:
        message["tool_calls"] = [call(made, reply.echo) for made in reply.calls]
    return message
