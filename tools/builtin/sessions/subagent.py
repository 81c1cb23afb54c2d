"""subagent: a task for another run, whose answer is the call's."""

from typing import Any, ClassVar

from tools.errors import ToolValidationError
from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label
from tools.schemas.schema import InvalidToolDeclaration, declare_condition
from tools.waiting import WaitsForRun

# A run that reads what strangers wrote and answers by a closed schema hands none of their words on.
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": (
        "A JSON Schema that the answer must fit, as JSON. If it allows enumerations, booleans and numbers alone, in "
        "objects without further properties and lists with maxItems, what the subagent reads does not count as read "
        "by you."
    ),
}


def sound(wanted: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema that an answer is to fit. Raises ToolValidationError for one that nothing can be checked against."""
    if wanted is None:
        return None
    try:
        declare_condition(wanted)
    except InvalidToolDeclaration as unsound:
        raise ToolValidationError(f"output_schema cannot be used: {unsound}", "output_schema") from None
    return wanted


class Subagent(Tool):
    """Begin a run with a task of its own, and wait for its answer."""

    name = "subagent"
    description = (
        "Give a task to a subagent, which works on it by itself and answers. It knows nothing of this conversation but "
        "the task and the context that you give it, has no more tools than you, and takes its time from yours. "
        "Several calls in one turn run side by side."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "task": {
                "type": "string",
                "description": "What to do, and what to answer with.",
                "minLength": 1,
                "maxLength": 32_000,
            },
            "agent": {
                "type": "string",
                "description": "The slug of the agent that works on it; without it your own.",
                "minLength": 1,
                "maxLength": 50,
            },
            "context": {"type": "string", "description": "What it has to know for that.", "maxLength": 100_000},
            "output_schema": OUTPUT_SCHEMA,
        },
        "required": ["task"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    handles = frozenset({"children"})
    # What the run reads flows to the one that began it.
    labels = frozenset[Label]()
    rate = "60/m"
    transactional = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output, once the run has ended: `{"content", "run_id", "status", "incomplete_reason"}`, also of a run that
        has spent what it had; with `output_schema` also `answer`, the value that `content` is as JSON.

        Raises ToolUnavailable, ToolPermissionDenied, ToolValidationError.
        """
        children = held(ctx.children, "children")
        wanted = sound(params.get("output_schema"))
        agent, context = params.get("agent"), params.get("context")
        raise WaitsForRun(await children.begin(task=params["task"], agent=agent, context=context, output_schema=wanted))
