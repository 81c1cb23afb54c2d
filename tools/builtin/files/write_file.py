"""write_file: a file of the conversation, new or with new content."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import MAX_TEXT, PATH, file_path, refusing, workspace
from tools.errors import ToolExecutionError
from tools.files.writing import Written
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult
from tools.labels import Label


class WriteFile(Tool):
    """Write a text file, whatever it held before."""

    name = "write_file"
    description = (
        "Write a text file in this conversation's workspace: a new one, or a new version of one that exists, whose "
        "content is replaced as a whole. Earlier versions stay. To change a part of a file, use edit_file."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": PATH,
            "content": {"type": "string", "description": "The whole text.", "maxLength": MAX_TEXT},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"files"})
    rate = "60/m"
    transactional = True
    idempotent = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"path", "version", "size"}`; the version is the one it had where it held the same already.

        Raises ToolExecutionError when it does not fit, ToolUnavailable when that cannot be decided.
        """
        path, files = file_path(params), workspace(ctx)
        with refusing():
            written = await files.write(path, encoded(params["content"]))
        return result_of(written, "Wrote")


def encoded(text: str) -> bytes:
    """The text in UTF-8. Raises ToolExecutionError when it is longer than a tool may write."""
    body = text.encode()
    if len(body) > MAX_TEXT:
        raise ToolExecutionError(
            f"The file would have {len(body):,} bytes; at most {MAX_TEXT:,} can be written. Nothing was written; "
            "divide it among several files."
        )
    return body


def result_of(written: Written, verb: str) -> ToolResult:
    """What a tool answers once it has written."""
    output = {"path": written.path, "version": written.version, "size": written.size}
    if not written.new:
        return ToolResult(output, f"{written.path} held this already")
    made = Artifact("file", str(written.id), "created" if written.version == 1 else "updated")
    return ToolResult(output, f"{verb} {written.path} (version {written.version})", (made,))
