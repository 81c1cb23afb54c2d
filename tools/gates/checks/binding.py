"""The gate `binding`: is the call that goes on the one that was approved, within its time."""

from datetime import UTC, datetime

from audit.canonical import sha256_hex
from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.refusals import ASK_ANEW


class Binding(Gate):
    """Another tool, user, schema or other arguments than those approved are refused, and so is an approval too old."""

    name = "binding"
    code = "policy_denied"
    passed = "It is the call that was approved"
    refused = "It is not the call that was approved"
    occasions = frozenset({Occasion.RESUMED})

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """Compared by hashes; without an approval nothing is bound, and the call is refused."""
        tool, approval = candidate.known_tool, context.approval
        if approval is None or (tool.name, context.caller.user_id) != (approval.tool_name, approval.user_id):
            return self._unbound("What was approved is another call.")
        if tool.binding != approval.schema_hash:
            return self._unbound(f"The parameters of {tool.name} have changed since the call was approved.")
        if sha256_hex(candidate.arguments) != approval.params_hash:
            return self._unbound("The arguments are not those that were approved.")
        if datetime.now(UTC) > approval.usable_until:
            return self._unbound("The approval was not used in time.")
        return self.passes()

    def _unbound(self, why: str) -> GateResult:
        return self.refuses(model=f"{why} {ASK_ANEW}", user=f"{why} The call did not run.", log=why)
