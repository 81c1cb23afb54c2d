"""read_file: the lines of a file of the conversation."""

from typing import Any, ClassVar

from tools.builtin.files.workspace import MOST_SHOWN, PATH, file_path, fitting, refusing, text_of, workspace
from tools.errors import ToolValidationError
from tools.files.content import Kind, lines_of
from tools.files.store import taint_of
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label

_DEFAULT_LINES, _MOST_LINES = 500, 5000


class ReadFile(Tool):
    """Read lines of a text file."""

    name = "read_file"
    description = (
        "Read a text file of this conversation's workspace, by lines: those that fit in one answer, 500 at "
        "most, from the first unless from_line says otherwise. Says how many lines are left after those returned."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": PATH,
            "from_line": {"type": "integer", "description": "The first line to return, from 1.", "minimum": 1},
            "lines": {
                "type": "integer",
                "description": "How many lines at most.",
                "minimum": 1,
                "maximum": _MOST_LINES,
            },
        },
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
        """Output: `{"path", "version", "content", "from_line", "lines", "total_lines", "lines_left"}`; `"cut": true`
        when a line is longer than one answer may be.

        Raises ToolExecutionError for no such file, or one that is no text, ToolValidationError for a line behind the
        last.
        """
        path, files = file_path(params), workspace(ctx)
        # JSON Schema counts 10.0 as an integer.
        first, wanted = int(params.get("from_line", 1)), int(params.get("lines", _DEFAULT_LINES))
        with refusing():
            file = await files.find(path)
            body = await files.read(file)
        lines = lines_of(text_of(body, path, Kind(file["media_type"], file["plain"])))
        if first > max(len(lines), 1):
            count = f"{len(lines):,} line{'' if len(lines) == 1 else 's'}"
            raise ToolValidationError(f"{path} has {count}; there is no line {first:,}.", "from_line")
        shown, cut = _fitting(lines[first - 1 : first - 1 + wanted])
        left = max(0, len(lines) - (first - 1) - len(shown))
        output = {
            "path": path,
            "version": file["version"],
            "content": "\n".join(shown),
            "from_line": first,
            "lines": len(shown),
            "total_lines": len(lines),
            "lines_left": left,
        }
        said = f"Read {path}" + (f", lines {first:,} to {first - 1 + len(shown):,}" if first > 1 or left else "")
        return ToolResult(output | ({"cut": True} if cut else {}), said, reads=taint_of([file]))


def _fitting(lines: list[str]) -> tuple[list[str], bool]:
    """The first lines that one answer may hold, and whether the only one had to be cut."""
    number = fitting(lines)
    if number or not lines:
        return lines[:number], False
    # A character has six bytes of JSON at most.
    return [lines[0][: MOST_SHOWN // 6]], True
