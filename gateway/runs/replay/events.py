"""A run that is over as replay events: what a program needs to play it again, and to check what it comes to.

    Turn         the model's answer: its text, tokens and time
    ToolCall     a call as the model made it, with the arguments that it ran with
    ToolResult   what came of it

Each turn's `Turn` comes first, then its `ToolCall`s in the order in which the model made them, then its `ToolResult`s
in the order in which they ended. Every event of a tool has `params_hash`, `output_hash`, `latency_ms` and
`side_effects`, as the call's receipt has them. What was erased is null, and the event says `erased`.
"""

import uuid
from collections.abc import AsyncIterator, Iterator
from operator import itemgetter
from typing import Any

import orjson

from gateway.runs import reading
from gateway.runs.errors import RunNotOver
from gateway.runs.replay.recording import Recording
from gateway.runs.rows import Run, RunCall, Turn
from gateway.runs.view import FINAL
from tenants.scope.transactions import TenantScope, transaction

CONTENT_TYPE = "application/x-ndjson"


def of_turn(run_id: uuid.UUID, number: int, turn: Turn | None, calls: list[RunCall]) -> Iterator[bytes]:
    """The lines of one turn; without `turn`, of which only calls are left, those of the tools."""
    if turn is not None:
        yield _line(
            {
                "event": "Turn",
                "run_id": run_id,
                "turn": number,
                "text": turn.text,
                "finish_reason": turn.finish_reason,
                "input_tokens": turn.input_tokens,
                "output_tokens": turn.output_tokens,
                "latency_ms": turn.latency_ms,
                "created_at": turn.created_at,
            }
        )
    for call in calls:
        yield _line(_tool_call(run_id, call))
    # What a cancelled run leaves running has not come to anything yet.
    ended = [(call.finished_at, call.position, call) for call in calls if call.finished_at is not None]
    for *_, call in sorted(ended, key=itemgetter(0, 1)):
        yield _line(_tool_result(run_id, call))


def of_recording(run_id: uuid.UUID, recording: Recording) -> Iterator[bytes]:
    """The lines of a whole run; raises RunNotOver."""
    if recording.run is not None:
        ensure_over(recording.run)
    return _lines(run_id, recording)


def _lines(run_id: uuid.UUID, recording: Recording) -> Iterator[bytes]:
    numbers = {call.turn for call in recording.calls} | {turn.number for turn in recording.turns}
    for number in sorted(numbers):
        yield from of_turn(run_id, number, recording.turn(number), recording.of_turn(number))


def ensure_over(run: Run) -> None:
    """Raise RunNotOver while the run goes on: what it came to is not known yet."""
    if run.status not in FINAL:
        raise RunNotOver(run.id, "in_progress" if run.status == "waiting" else run.status)


async def stream(scope: TenantScope, run_id: uuid.UUID) -> AsyncIterator[bytes]:
    """The lines of one's own run that is over, turn by turn: no transaction is open while the reader takes them."""
    async with transaction(scope) as connection:
        turns = await reading.turns(connection, run_id)
    for turn in turns:
        async with transaction(scope) as connection:
            calls = await reading.calls(connection, run_id, turn.number)
        for line in of_turn(run_id, turn.number, turn, calls):
            yield line


def _tool_call(run_id: uuid.UUID, call: RunCall) -> dict[str, Any]:
    return _head("ToolCall", run_id, call) | {
        "params": call.input,
        "params_raw": call.input_raw,
        "approved_params": call.approved_input,
        "approved_params_hash": call.approved_params_hash,
        "tier": call.tier,
        "decision": call.decision,
        "created_at": call.created_at,
    }


def _tool_result(run_id: uuid.UUID, call: RunCall) -> dict[str, Any]:
    error = {"code": call.error_code, "message": call.error_message, "field": call.error_field}
    return _head("ToolResult", run_id, call) | {
        "status": call.status,
        "output": call.output,
        "error": error if call.error_code else None,
        "started_at": call.started_at,
        "finished_at": call.finished_at,
    }


def _head(event: str, run_id: uuid.UUID, call: RunCall) -> dict[str, Any]:
    """What both events of a call begin with."""
    return {
        "event": event,
        "run_id": run_id,
        "turn": call.turn,
        "call_id": call.id,
        "tool": call.tool_name,
        "params_hash": call.params_hash,
        "output_hash": call.output_hash,
        "latency_ms": call.execution_time_ms,
        "side_effects": call.side_effects,
        "erased": call.row_key is None,
    }


def _line(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event, default=str, option=orjson.OPT_UTC_Z) + b"\n"
