"""A context for tools that are run without the pipeline around them."""

import uuid

from tools.interface import ToolContext


def context(**handles):
    """A ToolContext with only the handles given, 5 seconds left, and ids that do not matter."""
    return ToolContext(
        **{
            "call_id": uuid.UUID(int=1),
            "tenant_id": uuid.UUID(int=2),
            "user_id": uuid.UUID(int=3),
            "run_id": uuid.UUID(int=4),
            "conversation_id": uuid.UUID(int=5),
            "seconds": 5.0,
            **handles,
        }
    )
