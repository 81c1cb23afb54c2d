"""search_files: lines of the conversation's files, found by a regular expression."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import FOLDER, fitting, folder_path, workspace
from tools.files.search import MAX_PATTERN, Pattern
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label

_MOST = 100
_SHOWN_PATTERN = 80


class SearchFiles(Tool):
    """Find lines in text files by a regular expression."""

    name = "search_files"
    description = (
        "Search the text files of this conversation's workspace by a regular expression in RE2's syntax, which has no "
        'look-around and no back-references. Returns the lines that hold a match, 100 at most; "complete" is false '
        "when not everything was searched."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "The regular expression, looked for within each line; (?i) before it ignores case.",
                "minLength": 1,
                "maxLength": MAX_PATTERN,
            },
            "path": FOLDER,
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"files"})
    rate = "30/m"
    transactional = True
    idempotent = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"matches": [{"path", "line", "text"}], "files_searched", "complete"}`.

        Raises ToolValidationError for what is no regular expression.
        """
        folder, files, pattern = folder_path(params), workspace(ctx), Pattern(params["pattern"])
        found = await files.search(pattern, folder, _MOST)
        matches = found.matches[: fitting(found.matches)]
        complete = found.complete and len(matches) == len(found.matches)
        words = " ".join(params["pattern"].split())
        words = words if len(words) <= _SHOWN_PATTERN else words[:_SHOWN_PATTERN] + "…"
        count = "1 line" if len(matches) == 1 else f"{len(matches) or 'No'} lines"
        output = {"matches": matches, "files_searched": found.searched, "complete": complete}
        said = f"{count} for “{words}”" + ("" if complete else ", not everything searched")
        return ToolResult(output, said, reads=found.taint)
