"""list_files: which files the conversation has."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import FOLDER, fitting, folder_path, workspace
from tools.files.store import shown, taint_of
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label

_MOST = 200


class ListFiles(Tool):
    """List the files of a folder and of those in it."""

    name = "list_files"
    description = (
        "List the files of this conversation's workspace with their sizes, in the order of their paths, as many as "
        "fit in one answer, and how many there are; give a folder to see the others."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": FOLDER},
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"files"})
    rate = "120/m"
    transactional = True
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"files": [{"path", "version", "size", "type", "modified_at"}], "total"}`."""
        folder, files = folder_path(params), workspace(ctx)
        found = await files.listed(folder, _MOST)
        listed = [shown(file) for file in found]
        total = len(listed) if len(listed) < _MOST else await files.count(folder)
        count = "1 file" if total == 1 else f"{f'{total:,}' if total else 'No'} files"
        number = fitting(listed)
        return ToolResult(
            {"files": listed[:number], "total": total},
            count + (f" in {folder}" if folder else ""),
            reads=taint_of(found[:number]),
        )
