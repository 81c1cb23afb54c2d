"""The gate `ownership`: no managed call runs in a turn that calls a tool of the client's before it."""

from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Occasion


class Ownership(Gate):
    """Refuses every managed call of such a turn; `gateway.runs.turns.ownership` says which turns those are."""

    name = "ownership"
    code = "cancelled"
    passed = "The turn's calls can be answered in their order"
    refused = "The turn's calls cannot be answered in their order"
    occasions = frozenset({Occasion.MIXED})

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """Asked of mixed turns alone, so always no."""
        return self.refuses(
            model="A call of the client's own tool came before this one in the same turn. Call managed tools first.",
            user="The assistant mixed calls in an order that cannot be run.",
            log="client call before a managed one",
        )
