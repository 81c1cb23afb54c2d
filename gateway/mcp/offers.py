"""Prompts and resources: what the services of the caller's tools have for prompts, and what their MCP servers have.

A service's skill is a prompt of the service's name, and each of its feeds a resource,
`toolgate://services/{slug}/feeds/{name}`. A feed is data of a stranger, and its text says so. What MCP servers have is
listed as of their last snapshot, and passed on when it is asked for, as `services.prompts.passing_on` names it.
"""

from collections.abc import Awaitable
from typing import Any
from urllib.parse import quote

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
)

from gateway.mcp import exchange, tools
from gateway.mcp.asking import inputs
from gateway.mcp.results import COMPLETE
from services.prompts import passing_on, prompting
from services.prompts.prompting import InPrompts
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.errors import ToolError
from tools.gates.policy import Policy
from tools.invocation import evaluation

Context = ServerRequestContext[Any, Any]
_JSON = "application/json"


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """A page of the prompts that this caller is offered: guidance about tools of services, and their servers' own."""
    policy = await tools.policy_of(context)
    async with transaction(exchange.of(context).tenant_scope) as connection:
        return tools.page("prompts", await prompts_of(connection, policy), "name", params)


async def prompts_of(connection: Connection, policy: Policy) -> list[dict[str, Any]]:
    """All prompts that the policy's member is offered."""
    found = [{"name": each.slug, **_about(each)} for each in _services(policy) if each.skill]
    return found + await passing_on.prompts(connection, policy)


async def get_prompt(context: Context, params: GetPromptRequestParams) -> dict[str, Any]:
    """One of them; guidance has no arguments. Raises MCPError for an unknown one."""
    policy = await tools.policy_of(context)
    found = next((each for each in _services(policy) if each.skill and each.slug == params.name), None)
    if found is None:
        scope = exchange.of(context).tenant_scope
        unknown = MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}.")
        answers = inputs.passed_on(context, params.name, params)
        asked = passing_on.get_prompt(scope, policy, params.name, params.arguments or {}, answers)
        return await _given(context, params.name, asked, unknown)
    said = {"role": "user", "content": {"type": "text", "text": found.skill}}
    return {**COMPLETE, "description": _about(found)["description"], "messages": [said]}


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """A page of the resources that this caller may read: feeds of services, and what their servers list."""
    policy = await tools.policy_of(context)
    async with transaction(exchange.of(context).tenant_scope) as connection:
        return tools.page("resources", await resources_of(connection, policy), "uri", params)


async def resources_of(connection: Connection, policy: Policy) -> list[dict[str, Any]]:
    """All resources that the policy's member may read."""
    found = [
        {
            "uri": _uri(each, feed["name"]),
            "name": f"{each.slug}: {feed['name']}",
            "description": f"Data of the service {each.slug}, at most {feed['ttl']:g} seconds old while it answers.",
            "mimeType": _JSON,
        }
        for each in _services(policy)
        for feed in each.feeds
    ]
    return found + await passing_on.resources(connection, policy)


async def list_resource_templates(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """A page of the forms of addresses of more of them, as the services' servers list them."""
    policy = await tools.policy_of(context)
    async with transaction(exchange.of(context).tenant_scope) as connection:
        found = await passing_on.resource_templates(connection, policy)
    return tools.page("resourceTemplates", found, "uriTemplate", params)


async def read_resource(context: Context, params: ReadResourceRequestParams) -> dict[str, Any]:
    """One of them, a feed as `{service, feed, state, read_at, data}`. Raises MCPError for an unknown one."""
    uri = str(params.uri)
    asked = contents(exchange.of(context).tenant_scope, uri, inputs.passed_on(context, uri, params))
    return await _given(context, uri, asked, unknown_resource(context, uri))


async def contents(scope: TenantScope, uri: str, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a resource holds for its reader, as they may read it now; `answers` as in `passing_on.read_resource`.

    Raises LookupError and ToolError.
    """
    policy = await tools.policy_in(scope)
    for each in _services(policy):
        for feed in each.feeds:
            if _uri(each, feed["name"]) == uri:
                said = await prompting.feed_of(scope, each, feed["name"])
                return {"contents": [{"uri": uri, "mimeType": _JSON, "text": said}]}
    return await passing_on.read_resource(scope, policy, uri, answers)


def unknown_resource(context: Context, uri: str) -> MCPError:
    """That there is none of this address; the code was another in older revisions."""
    code = INVALID_PARAMS if context.protocol_version >= "2026-07-28" else -32002
    return MCPError(code, f"There is no resource {uri[:200]!r}.", {"uri": uri[:200]})


async def complete(context: Context, params: CompleteRequestParams) -> dict[str, Any]:
    """What an argument of a server's prompt or address may be; guidance and feeds have no arguments."""
    policy = await tools.policy_of(context)
    given = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    unknown = MCPError(INVALID_PARAMS, "There is no such prompt or resource.")
    scope = exchange.of(context).tenant_scope
    asked = passing_on.complete(scope, policy, given["ref"], given["argument"], given.get("context"))
    return await _given(context, "", asked, unknown)


async def _given(
    context: Context, about: str, answering: Awaitable[dict[str, Any]], unknown: MCPError
) -> dict[str, Any]:
    """What a server answers, for this caller alone; what it refuses or fails at is told in our words."""
    try:
        given = await answering
    except LookupError:
        raise unknown from None
    except ToolError as error:
        raise MCPError(INTERNAL_ERROR, error.message) from None
    if given.get("resultType") == "input_required":
        return inputs.asked_by_server(context, about, given)
    return {**COMPLETE, **given}


def _services(policy: Policy) -> list[InPrompts]:
    """What the services of the tools that this caller may use have for prompts."""
    return prompting.concerning(policy, [tool.name for tool in evaluation.offered(policy)])


def _about(service: InPrompts) -> dict[str, str]:
    title = f"How to use {service.slug}"
    return {"title": title, "description": f"Guidance about the tools of the service {service.slug}."}


def _uri(service: InPrompts, feed: str) -> str:
    return f"toolgate://services/{service.slug}/feeds/{quote(feed, safe='')}"
