"""A tool call as a result of `tools/call`: content for the model, structured content for programs, and where it is."""

from functools import cache
from typing import Any

import orjson
from django.conf import settings
from mcp_types import ContentBlock
from pydantic import TypeAdapter, ValidationError

from approvals.rows import AskedQuestion
from audit.calls.rows import ToolCall
from audit.models import Status

# What a result's `_meta` has of Toolgate's.
META = "toolgate/call"
# An output of these members, whose content is valid, is taken for the result that an MCP server gave.
_OF_RESULT = frozenset({"content", "structuredContent", "_meta"})

Result = dict[str, Any]
# What a result of 2026-07-28 says of itself; others have no such member, and the SDK leaves it out.
COMPLETE: Result = {"resultType": "complete"}


def of(call: ToolCall) -> Result:
    """The result of a final call, as `CallToolResult` has it; a call that failed or was refused is an error in it."""
    if call.status == Status.ERROR:
        return _error(call, {"code": call.error_code, "message": call.error_message or "", "field": call.error_field})
    found = _given(call.output) or _made(call.output)
    content = found["content"]
    if call.approved_input is not None:
        ran_with = orjson.dumps(call.approved_input).decode()
        content = [*content, _text(f"An approver changed the arguments; the call ran with {ran_with}.")]
    return {**found, "content": content, "isError": False, "_meta": {**found.get("_meta", {}), META: about(call)}}


def waiting(call: ToolCall, questions: list[AskedQuestion] | None = None) -> Result:
    """What a client without tasks is told of a call that is not final, and that asks its user these questions."""
    again = f"Call {call.tool_name} again with the same arguments, within 24 hours, to get the result of this call."
    if call.status == Status.AWAITING_APPROVAL:
        code = "approval_required"
        where = f"{settings.PUBLIC_URL}/approvals/{call.approval_id}/"
        message = (
            f"A human has to approve this call; it has not run. The approval is {call.approval_id} ({where}). {again}"
        )
    elif questions:
        code = "input_required"
        asked = [
            f"{each.message} (question {each.id}, {settings.PUBLIC_URL}/questions/{each.id}/)" for each in questions
        ]
        message = f"You are asked for an answer, which this client cannot give: {'; '.join(asked)} {again}"
    else:
        code = "still_running"
        message = f"The call has not ended yet. {again}"
    return _error(call, {"code": code, "message": message, "field": None})


def about(call: ToolCall) -> Result:
    """Where the call is in the history: a receipt proves what the ledger has of it."""
    return {
        "id": str(call.id),
        "status": call.status,
        "approval_id": call.approval_id and str(call.approval_id),
        "execution_time_ms": call.execution_time_ms,
        "url": f"{settings.PUBLIC_URL}/api/v1/tool-calls/{call.id}/",
        "receipt": f"{settings.PUBLIC_URL}/api/v1/tool-calls/{call.id}/receipt/",
    }


def _error(call: ToolCall, error: Result) -> Result:
    kept = {name: value for name, value in error.items() if value is not None}
    return {
        "content": [_text(str(error["message"]))],
        "structuredContent": {"error": kept},
        "isError": True,
        "_meta": {META: about(call)},
    }


def _given(output: Any) -> Result | None:
    """The output of a tool that answers as MCP servers do, as it is."""
    if not isinstance(output, dict) or "content" not in output or not set(output) <= _OF_RESULT:
        return None
    if not isinstance(output.get("_meta", {}), dict):
        return None
    try:
        _blocks().validate_python(output["content"])
    except ValidationError:
        return None
    return output


def _made(output: Any) -> Result:
    text = output if isinstance(output, str) else orjson.dumps(output).decode()
    made: Result = {"content": [_text(text)]}
    if isinstance(output, dict):
        # What every revision takes for structured content.
        made["structuredContent"] = output
    return made


def _text(text: str) -> Result:
    return {"type": "text", "text": text}


@cache
def _blocks() -> TypeAdapter[list[ContentBlock]]:
    return TypeAdapter(list[ContentBlock])
