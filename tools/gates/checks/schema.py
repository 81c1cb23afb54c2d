"""The gate `schema`: are the arguments strict JSON that the tool's schema accepts."""

from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Occasion
from tools.schemas import schema


class Schema(Gate):
    """What is not strict JSON, or not what the tool's schema asks for, goes back to the caller to be corrected."""

    name = "schema"
    code = "validation_error"
    passed = "The arguments fit the tool"
    refused = "The arguments do not fit the tool"
    occasions = frozenset({Occasion.NEW, Occasion.RESUMED})

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """The first thing that is wrong with the arguments, and how often they may still be corrected."""
        tool = candidate.known_tool
        if candidate.problem is not None:
            message, field = candidate.problem.message, candidate.problem.field
        else:
            violation = schema.check(tool.parameters, candidate.arguments)
            if violation is None:
                return self.passes()
            message, field = violation.message, violation.field
        left = candidate.retries_left
        if left is None:
            advice, whose = f"Correct the arguments and call {tool.name} again.", "The"
        elif left > 0:
            retries = "retry" if left == 1 else "retries"
            advice, whose = (
                f"Correct the arguments and call {tool.name} again ({left} {retries} left).",
                "The assistant's",
            )
        else:
            advice, whose = (
                f"No retries are left: do not call {tool.name} again, and tell the user what went wrong.",
                "The assistant's",
            )
        return self.refuses(
            model=f"{message} {advice}",
            user=f"{whose} arguments for {tool.name} were not valid.",
            log=message,
            field=field,
        )
