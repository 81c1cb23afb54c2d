"""The gates, in the order in which a call passes them. The first that refuses ends the call.

    gate        asks                                                                        refuses with
    ownership   can the turn's calls be answered in their order at all                      cancelled
    kill_switch is a kill switch on that stops it, if any is on at all                      killed
    allowlist   does the tool exist; do operator, tenant and agent let it be called         not_allowed
    binding     is it the call that was approved, and in time                               policy_denied
    schema      are the arguments JSON that the tool's schema accepts                       validation_error
    permission  do the user's role and grants, and the agent, reach that far                permission_denied
    condition   are the tenant's access conditions met, if it has any about the tool        policy_denied
    policy      does a rule of the tenant deny it                                           policy_denied
    taint       would it reach outside in a session that has read private data and what     policy_denied
                strangers wrote: then it is held, or refused, as the tenant says
    connection  is the user's account connected, where the tool is called in its name       permission_denied,
                                                                                            unavailable
    rate_limit  is there room in the window                                                 rate_limited, unavailable
    approval    does a human have to say yes first: then the call is held                   approval_denied
                for a call that goes on: do enough of its approvers still count

A new gate is a file of its own and a line in GATES.
"""

from tools.gates.checks.allowlist import Allowlist
from tools.gates.checks.approval import Approving
from tools.gates.checks.binding import Binding
from tools.gates.checks.condition import Conditions
from tools.gates.checks.connection import Connection
from tools.gates.checks.kill_switch import KillSwitches
from tools.gates.checks.ownership import Ownership
from tools.gates.checks.permission import Permission
from tools.gates.checks.rate_limit import RateLimit
from tools.gates.checks.rules import Rules
from tools.gates.checks.schema import Schema
from tools.gates.checks.taint import Tainted
from tools.gates.interface import Gate, Occasion

GATES: tuple[Gate, ...] = (
    Ownership(),
    KillSwitches(),
    Allowlist(),
    Binding(),
    Schema(),
    Permission(),
    Conditions(),
    Rules(),
    Tainted(),
    Connection(),
    RateLimit(),
    Approving(),
)


def gates(occasion: Occasion) -> tuple[Gate, ...]:
    """The gates that are asked on an occasion, in order."""
    return tuple(gate for gate in GATES if occasion in gate.occasions)


def new_call() -> tuple[Gate, ...]:
    """What a new call passes before it is recorded."""
    return gates(Occasion.NEW)


def resumed_call() -> tuple[Gate, ...]:
    """What an approved call passes once more before it is queued."""
    return gates(Occasion.RESUMED)


def names() -> list[str]:
    """The names that decisions may hold."""
    return [gate.name for gate in GATES]


def label(name: str) -> tuple[str, str] | None:
    """A gate's labels for pages, for what it let through and what it refused; None for one that is not in the list."""
    return next(((gate.passed, gate.refused) for gate in GATES if gate.name == name), None)
