"""delete_file: a file of the conversation taken away, for its user to bring back."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import PATH, file_path, refusing, workspace
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult
from tools.labels import Label


class DeleteFile(Tool):
    """Take a file away; its versions stay until its user deletes them."""

    name = "delete_file"
    description = (
        "Delete a file of this conversation's workspace, with or without text in it. It is not listed, read or found "
        "any more; its user can bring it back, or delete it for good."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": PATH},
        "required": ["path"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"files"})
    rate = "60/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"path", "deleted": true}`.

        Raises ToolExecutionError for no such file, ToolUnavailable when others hold it.
        """
        path, files = file_path(params), workspace(ctx)
        with refusing():
            file = await files.find(path)
            await files.remove(file)
        artifact = Artifact("file", str(file["id"]), "deleted")
        return ToolResult({"path": path, "deleted": True}, f"Deleted {path}; it can be brought back", (artifact,))
