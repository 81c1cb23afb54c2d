"""edit_file: one place of a file of the conversation, replaced."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import PATH, file_path, refusing, text_of, workspace
from tools.builtin.files.write_file import encoded, result_of
from tools.files.content import Kind, replaced
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label


class EditFile(Tool):
    """Replace a text in a file that occurs in it exactly once."""

    name = "edit_file"
    description = (
        'Replace a text in a file of this conversation\'s workspace. "old" must occur exactly once, so give enough of '
        "the text around it, exactly as read_file returns it. The file gets a new version."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": PATH,
            "old": {"type": "string", "description": "The text to replace.", "minLength": 1, "maxLength": 200_000},
            "new": {"type": "string", "description": "What takes its place.", "maxLength": 200_000},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"files"})
    rate = "60/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"path", "version", "size"}`.

        Raises ToolExecutionError when the text does not occur exactly once, the file is no text or was changed
        meanwhile, or the new version does not fit, ToolUnavailable when that cannot be decided.
        """
        path, files = file_path(params), workspace(ctx)
        with refusing():
            file = await files.find(path)
            text = text_of(await files.read(file), path, Kind(file["media_type"], file["plain"]))
            body = encoded(replaced(text, params["old"], params["new"]))
            written = await files.write(path, body, replaces=file["version"])
        return result_of(written, "Edited")
