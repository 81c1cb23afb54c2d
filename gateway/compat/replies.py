"""A run as the answer that a compatible API writes."""

from gateway.compat.interface import Reply, TurnReply
from gateway.providers.interface import Usage
from gateway.runs.prompting import continuity
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.view import RunView, TurnView, asking, call_body, pending, required_action

# A spent budget ends an answer as a full one ends: cut.
_CUT = {"max_turns", "time", "tokens"}


def turn_reply(turn: TurnView) -> TurnReply:
    """One turn as far as it has come."""
    return TurnReply(turn.number, turn.text, turn.opaque, tuple(call_body(call) for call in turn.calls))


def reply(view: RunView, request: ClientRequest, created: int) -> Reply:
    """The answer to a request, of its run that is over or waits for humans."""
    run, last = view.run, view.last
    waiting, asked = (pending(last), asking(last)) if last and view.suspended else ([], [])
    below = view.below if view.suspended else []
    action = required_action(waiting, asked, below)
    calls = last.client_calls if last else ()
    details = last.details if last else {}
    return Reply(
        id=view.id.hex,
        created=created,
        model=request.model,
        turns=tuple(turn_reply(turn) for turn in view.turns),
        calls=calls,
        finish_reason=_finish_reason(view, bool(calls)),
        usage=_usage(view),
        toolgate={
            "run_id": str(view.id),
            "conversation_id": str(run.conversation_id),
            "status": view.status,
            "tool_calls": [call_body(call) for turn in view.turns for call in turn.calls],
            # What waits for the user themselves is nowhere else in a vendor's shape.
            **({"required_action": action} if asked else {}),
        },
        stop_sequence=details.get("stop_sequence"),
        notice=continuity.notice(waiting, asked, below) if action else "",
        pending=tuple(action["approvals"]) if action else (),
        family=details.get("family"),
        extra=details.get("extra", {}),
        echo=request.echo,
    )


def _finish_reason(view: RunView, client_calls: bool) -> str:
    if view.run.incomplete_reason in _CUT:
        return "length"
    if client_calls:
        return "tool_calls"
    reason = view.last.finish_reason if view.last else "stop"
    return "stop" if reason == "tool_calls" else reason


def _usage(view: RunView) -> Usage:
    def summed(name: str) -> int:
        return sum(turn.details.get(name, 0) for turn in view.turns)

    run = view.run
    return Usage(run.input_tokens, run.output_tokens, summed("cached_tokens"), summed("reasoning_tokens"))
