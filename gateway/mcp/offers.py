"""Prompts and resources. Nobody offers any yet: the lists are empty, and a name in them is never known."""

from typing import Any, NoReturn

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams

from gateway.mcp.results import COMPLETE

Context = ServerRequestContext[Any, Any]


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The prompts that this caller is offered."""
    return {**COMPLETE, "prompts": []}


async def get_prompt(context: Context, params: GetPromptRequestParams) -> NoReturn:
    """One of them."""
    raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}.")


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The resources that this caller may read."""
    return {**COMPLETE, "resources": []}


async def list_resource_templates(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The forms of addresses of more of them."""
    return {**COMPLETE, "resourceTemplates": []}


async def read_resource(context: Context, params: ReadResourceRequestParams) -> NoReturn:
    """One of them; an unknown one has had a code of its own in older revisions."""
    uri = str(params.uri)
    code = INVALID_PARAMS if context.protocol_version >= "2026-07-28" else -32002
    raise MCPError(code, f"There is no resource {uri[:200]!r}.", {"uri": uri[:200]})
