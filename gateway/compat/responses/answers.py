"""The pieces that whole and streamed responses are made of."""

from typing import Any, Literal

import orjson

from audit.canonical import sha256_hex
from gateway.compat.interface import Reply, TurnReply
from gateway.compat.openai_fields import Fields
from gateway.compat.responses import ids
from gateway.compat.responses.input import SERVER
from gateway.providers.interface import Opaque, SuggestedCall, Usage

Item = dict[str, Any]
Phase = Literal["commentary", "final_answer"]

NOTICE = 0
"""The turn that the notice has the place of; turns count from 1."""

_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "user": None,
}


def echo(asked: Fields) -> dict[str, Any]:
    """What of a request its response says again."""
    given = {name: asked.values[name] for name in _ECHOED if asked.values.get(name) is not None}
    return given | {"previous_response_id": asked.values.get("previous_response_id")}


def response(run_id: str, created: int, model: str, echoed: dict[str, Any]) -> dict[str, Any]:
    """A response that has begun, and nothing more."""
    return {
        "id": ids.response(run_id),
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "service_tier": None,
        "top_logprobs": 0,
        "truncation": "disabled",
        "usage": None,
        **_ECHOED,
        **echoed,
    }


def body(reply: Reply) -> dict[str, Any]:
    """The response object, with `toolgate` beside OpenAI's fields."""
    state = reply.toolgate["status"]
    # A run that waits for a human has answered: its client asks again once that is decided.
    status = "completed" if state == "requires_action" else state
    reason = None
    if reply.finish_reason in ("length", "content_filter"):
        status, reason = "incomplete", {"length": "max_output_tokens"}.get(reply.finish_reason, reply.finish_reason)
    tier = reply.extra.get("service_tier") if reply.family == "openai" else None
    return {
        **response(reply.id, reply.created, reply.model, reply.echo),
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output(reply),
        "service_tier": tier,
        "usage": usage(reply.usage),
        "toolgate": reply.toolgate,
    }


def usage(counted: Usage) -> dict[str, Any]:
    """Tokens as OpenAI counts them."""
    return {
        "input_tokens": counted.input_tokens,
        "input_tokens_details": {"cached_tokens": counted.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": counted.output_tokens,
        "output_tokens_details": {"reasoning_tokens": counted.reasoning_tokens},
        "total_tokens": counted.input_tokens + counted.output_tokens,
    }


def output(reply: Reply) -> list[Item]:
    """All items, turn by turn; then the notice, what humans must decide, and the client's calls."""
    waiting = {request["id"] for request in reply.pending}
    last = reply.turns[-1].number if reply.turns else NOTICE
    ends_here = not reply.calls and not reply.pending
    items: list[Item] = []
    for turn in reply.turns:
        items += _thoughts(reply.id, turn)
        if turn.text:
            phase: Phase = "final_answer" if turn.number == last and ends_here else "commentary"
            items.append(message(reply.id, turn.number, turn.text, kind=_kind(turn), phase=phase))
        items += [managed(call) for call in turn.calls if call["approval_id"] not in waiting]
    if reply.notice:
        items.append(message(reply.id, NOTICE, reply.notice, phase="commentary"))
    items += map(_request, reply.pending)
    items += [call(reply.id, last, at, made, reply.echo) for at, made in enumerate(reply.calls)]
    return items


def thought(part: Opaque) -> str:
    """What of an opaque part is a thought that can be read."""
    name = part.raw.get("type")
    said = part.raw.get(name) if isinstance(name, str) and name != "refusal" else None
    return said if isinstance(said, str) else ""


def is_refusal(part: Opaque) -> bool:
    """Whether an opaque part says that the turn's text is a refusal."""
    return part.family == "openai" and part.raw.get("type") == "refusal"


def _kind(turn: TurnReply) -> str:
    refused = "".join(part.raw["refusal"] for part in turn.opaque if is_refusal(part))
    return "refusal" if refused == turn.text else "output_text"


def _thoughts(run_id: str, turn: TurnReply) -> list[Item]:
    thoughts = "".join(map(thought, turn.opaque))
    return [reasoning(run_id, turn.number, thoughts)] if thoughts else []


def reasoning(run_id: str, turn: int, text: str | None) -> Item:
    """A turn's thoughts; none yet where they are still to come."""
    found = [] if text is None else [{"type": "reasoning_text", "text": text}]
    status = "in_progress" if text is None else "completed"
    return {"id": ids.item("rs", run_id, turn), "type": "reasoning", "status": status, "summary": [], "content": found}


def part(kind: str, text: str) -> Item:
    """The content of a message."""
    if kind == "refusal":
        return {"type": kind, "refusal": text}
    return {"type": kind, "text": text, "annotations": [], "logprobs": []}


def message(run_id: str, turn: int, text: str | None, *, kind: str = "output_text", phase: Phase | None = None) -> Item:
    """What was said in a turn; nothing yet where it is still to come."""
    item = {
        "id": ids.item("msg", run_id, turn),
        "type": "message",
        "role": "assistant",
        "status": "in_progress" if text is None else "completed",
        "content": [] if text is None else [part(kind, text)],
    }
    # Tells SDKs which text holds the structured answer.
    return item if phase is None else {**item, "phase": phase}


def managed(body: dict[str, Any]) -> Item:
    """A managed call, of its body as in `toolgate.tool_calls`."""
    error = None
    if body["error"]:
        content = [{"type": "text", "text": body["error"]["message"] or body["error"]["code"]}]
        error = {"type": "mcp_tool_execution_error", "content": content}
    status = {"success": "completed", "error": "failed"}.get(body["status"], "in_progress")
    said = body["output"]
    return {
        "id": ids.managed(body["id"]),
        "type": "mcp_call",
        "status": status,
        "server_label": SERVER,
        "name": body["tool"],
        "arguments": _json(body["input"] or {}),
        "output": said if said is None or isinstance(said, str) else _json(said),
        "error": error,
        "approval_request_id": body["approval_id"] and ids.approval(body["approval_id"]),
    }


def _request(asked: dict[str, Any]) -> Item:
    return {
        "id": ids.approval(asked["id"]),
        "type": "mcp_approval_request",
        "server_label": SERVER,
        "name": asked["tool"],
        "arguments": _json(asked["input"] or {}),
        # What an approver says they have seen when they decide about these arguments.
        "params_hash": sha256_hex(asked["input"]),
    }


def call(run_id: str, turn: int, at: int, made: SuggestedCall, echoed: dict[str, Any]) -> Item:
    """A call of the client's own tool."""
    said: Item = {"status": "completed", "call_id": made.id, "name": made.name}
    if any(tool["type"] == "custom" and tool["name"] == made.name for tool in echoed.get("tools", ())):
        return {"id": ids.item("ctc", run_id, turn, at), "type": "custom_tool_call", **said, "input": made.arguments}
    return {"id": ids.item("fc", run_id, turn, at), "type": "function_call", **said, "arguments": made.arguments}


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
