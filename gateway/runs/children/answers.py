"""What the end of a child is as the end of the call that waited for it.

Where the call asked for an answer by a schema, nothing is passed on but an answer that fits, in its canonical form. By
a closed schema such an answer holds no words of what the child has read (`tools.schemas.closed`), and so it taints
nothing; neither does a refusal, which says nothing that the child said.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import NotCanonical, canonical
from gateway.runs.rows import Run
from tools.invocation.in_worker.outcomes import stored_output
from tools.schemas import closed, schema

_SHOWN = 200
_FENCES = ("```json", "```")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ends with its child; `taints`: what the child has read counts as read by the run above."""

    outcome: Outcome
    taints: bool


def demand(wanted: dict[str, Any]) -> str:
    """What a child is told of the schema that its answer is to fit."""
    return f"Answer with JSON alone, which fits this JSON Schema:\n{orjson.dumps(wanted).decode()}"


def ended(call: ToolCall, run: Run, content: str) -> Ended:
    """How the call ends with a run that is over, and whose last words are `content`."""
    wanted = (call.input or {}).get("output_schema")
    if wanted is None:
        return Ended(_outcome(call, run, content), taints=True)
    taints = closed.why_open(wanted) is not None
    if run.status not in ("completed", "incomplete"):
        # What ended it may be told in words that it has read.
        why = "was cancelled" if run.status == "cancelled" else "has failed"
        code = "cancelled" if run.status == "cancelled" else "execution_error"
        return Ended(_refused(call, code, f"The run of {_agent(run)} that this call began {why}."), taints)
    value, fits = _read(wanted, content)
    if not fits:
        left = "" if run.status == "completed" else " It ran out of its limits."
        message = f"{_agent(run)} gave no answer that fits output_schema, so nothing of it is passed on.{left}"
        return Ended(_refused(call, "execution_error", message), taints)
    answer = canonical(value).decode()
    return Ended(_outcome(call, run, answer, {"answer": value}), taints)


def _read(wanted: dict[str, Any], content: str) -> tuple[Any, bool]:
    """The value that a text is as JSON, and whether it fits the schema; what cannot be told does not."""
    text = content.strip()
    if text.startswith(_FENCES) and text.endswith("```"):
        text = text.removeprefix(_FENCES[0]).removeprefix(_FENCES[1]).removesuffix("```")
    try:
        value = orjson.loads(text)
        canonical(value)
    except (orjson.JSONDecodeError, NotCanonical):
        return None, False
    return value, schema.check(wanted, value) is None


def _agent(run: Run) -> str:
    return str(run.profile.get("slug", ""))


def _outcome(call: ToolCall, run: Run, content: str, more: dict[str, Any] | None = None) -> Outcome:
    agent = _agent(run)
    if run.status in ("completed", "incomplete"):
        output = {
            "content": content,
            "run_id": str(run.id),
            "status": run.status,
            "incomplete_reason": run.incomplete_reason,
        }
        said = " ".join(content.split())
        said = said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
        display = f"{agent} answered: {said}" if run.status == "completed" else f"{agent} ran out of its limits: {said}"
        return Outcome(
            **stored_output(output | (more or {})),
            display=display,
            side_effects=[{"kind": "run", "id": str(run.id), "action": run.status}],
            execution_time_ms=_elapsed(call),
        )
    if run.status == "cancelled":
        why = run.error_message or "it was cancelled"
        return _refused(
            call, "cancelled", f"The run of {agent} that this call began has ended without an answer: {why}"
        )
    message = f"The run of {agent} that this call began has failed: {run.error_message}"
    return _refused(call, "execution_error", message)


def _refused(call: ToolCall, code: str, message: str) -> Outcome:
    return Outcome(failure=Failure(code, message), display=message[:1000], execution_time_ms=_elapsed(call))


def _elapsed(call: ToolCall) -> int | None:
    return round((datetime.now(UTC) - call.started_at).total_seconds() * 1000) if call.started_at else None
