"""save_note: something worth keeping, for the user to find again."""

from typing import Any, ClassVar

from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label


class SaveNote(Tool):
    """Save a note of the user's own."""

    name = "save_note"
    description = "Save a note for the user, so that it can be found again later. Returns the note's id."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A short title.", "minLength": 1, "maxLength": 500},
            "content": {
                "type": "string",
                "description": "The note itself, as plain text or Markdown.",
                "maxLength": 100_000,
            },
            "tags": {
                "type": "array",
                "description": "Words to file the note under.",
                "items": {"type": "string", "minLength": 1, "maxLength": 100},
                "maxItems": 50,
            },
        },
        "required": ["title", "content"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"notes"})
    rate = "30/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"note_id": uuid, "saved": true}`."""
        notes = held(ctx.notes, "notes")
        note_id = await notes.save(title=params["title"], content=params["content"], tags=params.get("tags", []))
        return ToolResult(
            {"note_id": str(note_id), "saved": True},
            f"Saved the note “{' '.join(params['title'].split())}”",
            (Artifact("note", str(note_id), "created"),),
        )
