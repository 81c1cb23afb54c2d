"""What is recorded of a call that has ended: its tool's result or error, or why its tool was not called."""

import json
import time
from typing import Any

import orjson

from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import NotCanonical, sha256_hex
from tenants.switches.on import Switch
from tools.errors import ToolError
from tools.gates.checks import kill_switch
from tools.interface import Tool, ToolResult, labels_of
from tools.invocation.live.circuit import OPEN_SECONDS
from tools.labels import TAINTS, taint_of

# What `tool_calls.output` keeps whole.
MAX_OUTPUT_BYTES = 1024 * 1024


def success(call: ToolCall, tool: Tool, result: ToolResult, began: float) -> Outcome:
    """The result. Raises TypeError when its output is no JSON: a fault of the tool's author."""
    try:
        output = stored_output(result.output)
    except NotCanonical as error:
        raise TypeError(f"the tool's output is not JSON: {error}") from None
    return Outcome(
        **output,
        display=result.display[:1000],
        side_effects=[{"kind": each.kind, "id": each.id, "action": each.action} for each in result.artifacts],
        execution_time_ms=_since(began),
        reads=_reads(tool, call) | (result.reads & TAINTS),
    )


def failed(call: ToolCall, tool: Tool, error: ToolError, began: float) -> Outcome:
    """The tool's error, in its own words."""
    failure = Failure(error.code, error.message[:2000], getattr(error, "field", None))
    return Outcome(
        failure=failure,
        display=error.message[:1000],
        execution_time_ms=_since(began),
        reads=_reads(tool, call),
    )


def crashed(tool: Tool, began: float) -> Outcome:
    """Of a fault of the tool's author, whose details are only in the log."""
    failure = Failure("execution_error", f"{tool.name} failed unexpectedly; the operator finds why in the log.")
    return Outcome(failure=failure, display=failure.message, execution_time_ms=_since(began))


def stopped(call: ToolCall) -> Outcome | None:
    """How a call ends that was not begun, as the statement said that should have; None for one that has begun."""
    if call.error_code is None:
        return None
    assert call.error_message is not None, "the statement says which switch stops a call"
    failure = kill_switch.refusal(Switch.of(json.loads(call.error_message)))
    return Outcome(failure=failure, display=failure.display)


def gone(call: ToolCall) -> Outcome:
    """Of a call whose tool there is no more."""
    failure = Failure("unavailable", f"The tool {call.tool_name} is not installed any more; tell the operator.")
    return Outcome(failure=failure, display=failure.message)


def resting(tool: Tool) -> Outcome:
    """Of a call that the tool's open circuit does not let through."""
    failure = Failure(
        "unavailable",
        f"{tool.name} has failed several times in a row for this tenant and is not called for "
        f"{OPEN_SECONDS:g} seconds. Nothing was called. Try again after that; if it goes on, tell the operator.",
    )
    return Outcome(failure=failure, display=failure.message)


def stored_output(output: Any) -> dict[str, Any]:
    """What is recorded of an output: `output`, cut where it is long, with bytes and hash of the whole.

    Raises NotCanonical.
    """
    output_hash, text = sha256_hex(output), orjson.dumps(output)
    if len(text) > MAX_OUTPUT_BYTES:
        beginning = text[:MAX_OUTPUT_BYTES].decode("utf-8", "ignore")
        output = {"truncated": True, "original_bytes": len(text), "data": beginning}
    return {"output": output, "output_bytes": len(text), "output_hash": output_hash}


def _reads(tool: Tool, call: ToolCall) -> frozenset[str]:
    """What the call's answer taints its conversation with; an error's words may be the remote's, too."""
    return taint_of(labels_of(tool, call.arguments))


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
