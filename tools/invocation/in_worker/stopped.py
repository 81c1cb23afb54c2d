"""What becomes of a queued call that a kill switch stops when a worker takes it."""

import json

from audit.calls.recorder import Outcome
from audit.calls.rows import ToolCall
from tenants.switches.on import Switch
from tools.gates.checks import kill_switch


def outcome(call: ToolCall) -> Outcome | None:
    """How a call ends that was not begun, as the statement said that should have; None for one that has begun."""
    if call.error_code is None:
        return None
    assert call.error_message is not None, "the statement says which switch stops a call"
    failure = kill_switch.refusal(Switch.of(json.loads(call.error_message)))
    return Outcome(failure=failure, display=failure.display)
