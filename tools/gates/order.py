"""The gates, in the order in which a call passes them. The first that refuses ends the call.

    gate        asks                                                                        refuses with
    ownership   can the turn's calls be answered in their order at all                      cancelled
    allowlist   does the tool exist; do operator, tenant and agent let it be called         not_allowed
    binding     is it the call that was approved, and in time                               policy_denied
    schema      are the arguments JSON that the tool's schema accepts                       validation_error
    permission  do the user's role and grants, and the agent, reach that far                permission_denied
    policy      does a rule of the tenant deny it                                           policy_denied
    rate_limit  is there room in the window                                                 rate_limited, unavailable
    approval    does a human have to say yes first: then the call is held                   approval_denied
                for a call that goes on: do enough of its approvers still count

A new gate is a file of its own and a line in GATES.
"""

from tools.gates.allowlist import Allowlist
from tools.gates.approval import Approving
from tools.gates.binding import Binding
from tools.gates.interface import Gate, Occasion
from tools.gates.ownership import Ownership
from tools.gates.permission import Permission
from tools.gates.rate_limit import RateLimit
from tools.gates.rules import Rules
from tools.gates.schema import Schema

GATES: tuple[Gate, ...] = (
    Ownership(),
    Allowlist(),
    Binding(),
    Schema(),
    Permission(),
    Rules(),
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
