"""Bodies as servers of the chat completions API send them."""

from typing import Any

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def completion(message: dict[str, Any], finish_reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion", "choices": [choice], **more}


def call(call_id: str | None, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    made = {"type": "function", "function": {"name": name, "arguments": arguments}, **more}
    return made if call_id is None else {"id": call_id, **made}


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


STOP = chunk({}, "stop")
