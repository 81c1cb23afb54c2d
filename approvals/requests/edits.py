"""What an approver changed in a call's arguments, as a list of changes that a person can read."""

import json
from typing import Any

from approvals.errors import InvalidArguments
from tools.errors import ToolValidationError
from tools.interface import Tool
from tools.schemas import schema
from tools.schemas.arguments import parse

Change = dict[str, Any]


def checked(tool: Tool, arguments: Any) -> dict[str, Any]:
    """What an approver wrote instead of the arguments, read as strictly as a model's. Raises InvalidArguments."""
    try:
        read = parse(json.dumps(arguments))
    except ToolValidationError as error:
        raise InvalidArguments(error.message, _field(error.field)) from None
    violation = schema.check(tool.parameters, read)
    if violation is not None:
        raise InvalidArguments(violation.message, _field(violation.field))
    return read


def _field(name: str | None) -> str:
    return f"arguments.{name}" if name else "arguments"


def diff(before: Any, after: Any, path: str = "") -> list[Change]:
    """The changes that lead from one JSON value to another: `{op, path, before?, after?}`.

    `op` is add, remove or replace, `path` a JSON pointer (RFC 6901). Objects are compared by name, anything else whole.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        changes: list[Change] = []
        for name in before | after:
            at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                changes.append({"op": "remove", "path": at, "before": before[name]})
            elif name not in before:
                changes.append({"op": "add", "path": at, "after": after[name]})
            else:
                changes += diff(before[name], after[name], at)
        return changes
    # 1 is not True, and 1 is not 1.0, although Python says so.
    if type(before) is type(after) and before == after:
        return []
    return [{"op": "replace", "path": path, "before": before, "after": after}]
