"""file_info: what is known of one file of the conversation."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import PATH, file_path, refusing, workspace
from tools.files.content import lines_of
from tools.files.store import shown, taint_of
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label


class FileInfo(Tool):
    """Say what a file is: size, type, version, times, lines."""

    name = "file_info"
    description = "Say what a file of this conversation's workspace is: its size, type, version, times, and lines."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": PATH},
        "required": ["path"],
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
        """Output: `{"path", "version", "size", "type", "modified_at", "created_at", "text", "lines"}`; `lines` is null
        unless it is text.

        Raises ToolExecutionError for no such file.
        """
        path, files = file_path(params), workspace(ctx)
        with refusing():
            file = await files.find(path)
            body = await files.read(file) if file["plain"] else b""
        lines = len(lines_of(body.decode())) if file["plain"] else None
        output = shown(file) | {"created_at": file["created_at"].isoformat(), "text": file["plain"], "lines": lines}
        return ToolResult(output, f"{path}: {file['size']:,} bytes, version {file['version']}", reads=taint_of([file]))
