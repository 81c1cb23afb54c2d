"""`tools/list`: what this caller may use, in the order of the names, a page at a time."""

import base64
from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

from approvals.requests import callers_rights
from gateway.mcp import exchange
from gateway.mcp.results import COMPLETE
from tenants.scope.transactions import TenantScope, transaction
from tools import definitions
from tools.gates.policy import Policy
from tools.invocation import evaluation
from tools.registry import registry

PAGE = 100
# The revision in which a tool says whether it may be called as a task.
_TASKS_IN_CORE = "2025-11-25"


async def list_tools(context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None) -> dict[str, Any]:
    """One page of the tools whose call this user would not be refused as such, by their own rights."""
    tools = evaluation.offered(await policy_of(context), origin="mcp")
    after = _name_of(params.cursor) if params is not None and params.cursor is not None else ""
    left = [tool for tool in tools if tool.name > after]
    listed = definitions.mcp(tool.spec for tool in left[:PAGE])
    if context.protocol_version == _TASKS_IN_CORE:
        listed = [{**tool, "execution": {"taskSupport": "optional"}} for tool in listed]
    answer: dict[str, Any] = {**COMPLETE, "tools": listed}
    if len(left) > PAGE:
        answer["nextCursor"] = _cursor(listed[-1]["name"])
    return answer


def page(member: str, entries: list[dict[str, Any]], key: str, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """A page of a list, in the order of the entries' `key`; entries of one key are never parted."""
    after = _name_of(params.cursor) if params is not None and params.cursor is not None else ""
    left = sorted((each for each in entries if each[key] > after), key=lambda each: str(each[key]))
    end = PAGE
    while end < len(left) and left[end][key] == left[end - 1][key]:
        end += 1
    answer: dict[str, Any] = {**COMPLETE, member: left[:end]}
    if len(left) > end:
        answer["nextCursor"] = _cursor(left[end - 1][key])
    return answer


def input_schema(name: str) -> Mapping[str, Any] | None:
    """The schema that says which arguments a client repeats in headers; the SDK asks for it before each call."""
    tool = registry().get(name)
    return None if tool is None else tool.parameters


async def policy_of(context: ServerRequestContext[Any, Any]) -> Policy:
    """The caller's own rights to tools."""
    return await policy_in(exchange.of(context).tenant_scope)


async def policy_in(scope: TenantScope) -> Policy:
    """The rights to tools of the scope's user."""
    async with transaction(scope) as connection:
        return (await callers_rights.own(connection, scope.user_id)).policy


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name_of(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise MCPError(INVALID_PARAMS, "The cursor is none that Toolgate gave.") from None
