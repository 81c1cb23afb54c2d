"""search_notes: the user's notes, found by their words and, where they are embedded, by their meaning."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label, taken_from
from tools.search import meaning

_DEFAULT_LIMIT = 10
_SHOWN_QUERY = 80


class SearchNotes(Tool):
    """Find the user's notes, best first."""

    name = "search_notes"
    description = (
        "Search the user's saved notes. Returns those that fit best, each with its id, title and a snippet. "
        'A phrase in double quotes must occur as it is; a word after "-" must not occur.'
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words of the note.", "minLength": 1, "maxLength": 500},
            "limit": {
                "type": "integer",
                "description": "How many notes at most; 10 by default.",
                "minimum": 1,
                "maximum": 50,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"notes", "meaning"})
    rate = "60/m"
    transactional = True
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"notes": [{"note_id", "title", "snippet"}]}`; where notes are embedded, with `searched_by`,
        `["words"]` or `["words", "meaning"]`."""
        # JSON Schema counts 10.0 as an integer, PostgreSQL's LIMIT does not.
        limit = int(params.get("limit", _DEFAULT_LIMIT))
        vector, how = meaning.sought(ctx, params["query"])
        found = await held(ctx.notes, "notes").search(query=params["query"], limit=limit, meaning=vector)
        reads = taken_from(found)
        shown = " ".join(params["query"].split())
        shown = shown if len(shown) <= _SHOWN_QUERY else shown[:_SHOWN_QUERY] + "…"
        count = "1 note" if len(found) == 1 else f"{len(found) or 'No'} notes"
        return ToolResult({"notes": found} | how, f"{count} for “{shown}”", reads=reads)
