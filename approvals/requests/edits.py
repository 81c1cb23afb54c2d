"""What an approver changes in a call's arguments: checked like a model's, and kept as changes that a person can read.

A request is bound to its arguments by their hash. An edit binds it to others, as another revision of it: approvals of
the one before do not count any more (`votes`).
"""

import json
from typing import Any

from approvals.errors import InvalidArguments
from approvals.rows import ApprovalRequest
from audit.calls import recorder
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from tenants.scope import rows
from tenants.scope.transactions import Connection
from tools.errors import ToolValidationError
from tools.interface import Tool
from tools.invocation import lookup
from tools.schemas import schema
from tools.schemas.arguments import parse

Change = dict[str, Any]

_BIND = f"""
    UPDATE approval_requests SET params_hash = %s, revision = revision + 1
    WHERE id = %s RETURNING {rows.columns(ApprovalRequest)}"""


async def bind(
    connection: Connection, request: ApprovalRequest, call: ToolCall, arguments: Any
) -> tuple[ApprovalRequest, list[Change] | None]:
    """Bind a locked request to other arguments, if they are any others: its row then, and the changes, None for none.

    Raises InvalidArguments.
    """
    tool = await lookup.of_call(connection, call.tool_name)
    if tool is None or tool.binding != request.schema_hash:
        raise InvalidArguments(f"{call.tool_name} has changed since it was asked for; it can only be denied.")
    arguments = checked(tool, arguments)
    params_hash = sha256_hex(arguments)
    if params_hash == request.params_hash:
        return request, None
    changes = diff(call.arguments, arguments)
    await recorder.edit(connection, call.id, arguments, params_hash)
    bound = await rows.one(connection, ApprovalRequest, _BIND, [params_hash, request.id])
    assert bound is not None
    return bound, changes


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
