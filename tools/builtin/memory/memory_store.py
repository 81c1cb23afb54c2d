"""memory_store: something that models are to know in later conversations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tools.errors import ToolCallRejected, ToolValidationError
from tools.interface import Artifact, CallFacts, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label
from tools.stores.memories import MOST_OWN, MOST_SHARED

_SHOWN = 80
_FOR = {"user": "", "agent": " with this agent", "tenant": " for everybody in the tenant"}
_FULL = {
    "tenant": f"The tenant has {MOST_SHARED:,} shared memories, and may not have more. "
    "An owner can delete some (/memories/).",
    "user": f"You have {MOST_OWN:,} memories, and may not have more. Delete some first (/memories/).",
}


class MemoryStoreTool(Tool):
    """Remember something for the user, for the user with this agent, or for the whole tenant.

    What everybody's models are to be told waits for a human's approval; what is the user's own does not.
    """

    name = "memory_store"
    description = (
        "Remember a fact or a wish for later conversations, so that memory_search finds it. Write it so that it can be "
        "understood on its own. Scope user: for this user; agent: for this user with this agent only; tenant: for "
        "everybody in the tenant, which a human has to approve. Never store passwords or keys."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "What to remember.", "minLength": 1, "maxLength": 4000},
            "tags": {
                "type": "array",
                "description": "Words to file it under.",
                "items": {"type": "string", "minLength": 1, "maxLength": 100},
                "maxItems": 20,
            },
            "scope": {
                "type": "string",
                "description": "Whom it is for; user by default.",
                "enum": ["user", "agent", "tenant"],
            },
        },
        "required": ["content"],
        "additionalProperties": False,
    }
    tier = Tier.ELEVATED
    least_tier = Tier.WORKSPACE
    labels: ClassVar[frozenset[Label]] = frozenset()
    handles = frozenset({"memories"})
    rate = "30/m"
    transactional = True

    def tier_of(self, arguments: Mapping[str, Any], facts: CallFacts) -> Tier | None:
        """What is remembered for the whole tenant is Elevated."""
        return Tier.WORKSPACE if arguments.get("scope", "user") in ("user", "agent") else Tier.ELEVATED

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"memory_id": uuid, "stored": true}`."""
        memories, scope = held(ctx.memories, "memories"), params.get("scope", "user")
        if scope == "agent" and not memories.agent:
            raise ToolValidationError(
                "No agent makes this call, so nothing can be remembered for one. Use the scope user.", "scope"
            )
        content = params["content"]
        memory_id = await memories.store(content=content, tags=list(dict.fromkeys(params.get("tags", []))), scope=scope)
        if memory_id is None:
            raise ToolCallRejected(_FULL["tenant" if scope == "tenant" else "user"])
        shown = " ".join(content.split())
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
        return ToolResult(
            {"memory_id": str(memory_id), "stored": True},
            f"Remembered{_FOR[scope]}: “{shown}”",
            (Artifact("memory", str(memory_id), "created"),),
        )
