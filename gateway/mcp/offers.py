"""Prompts and resources: what the services of the caller's tools have for prompts.

A service's skill is a prompt of the service's name, and each of its feeds a resource,
`toolgate://services/{slug}/feeds/{name}`. A feed is data of a stranger, and its text says so.
"""

from typing import Any
from urllib.parse import quote

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams

from gateway.mcp import exchange, tools
from gateway.mcp.results import COMPLETE
from services import prompting
from services.prompting import InPrompts
from tools.invocation import evaluation

Context = ServerRequestContext[Any, Any]
_JSON = "application/json"


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The prompts that this caller is offered: guidance about tools of services."""
    found = [{"name": each.slug, **_about(each)} for each in await _services(context) if each.skill]
    return {**COMPLETE, "prompts": found}


async def get_prompt(context: Context, params: GetPromptRequestParams) -> dict[str, Any]:
    """One of them; it has no arguments. Raises MCPError for an unknown one."""
    found = next((each for each in await _services(context) if each.skill and each.slug == params.name), None)
    if found is None:
        raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}.")
    said = {"role": "user", "content": {"type": "text", "text": found.skill}}
    return {**COMPLETE, "description": _about(found)["description"], "messages": [said]}


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The resources that this caller may read: feeds of services."""
    found = [
        {
            "uri": _uri(each, feed["name"]),
            "name": f"{each.slug}: {feed['name']}",
            "description": f"Data of the service {each.slug}, at most {feed['ttl']:g} seconds old while it answers.",
            "mimeType": _JSON,
        }
        for each in await _services(context)
        for feed in each.feeds
    ]
    return {**COMPLETE, "resources": found}


async def list_resource_templates(context: Context, params: PaginatedRequestParams | None) -> dict[str, Any]:
    """The forms of addresses of more of them: there are none."""
    return {**COMPLETE, "resourceTemplates": []}


async def read_resource(context: Context, params: ReadResourceRequestParams) -> dict[str, Any]:
    """One of them, as `{service, feed, state, read_at, data}`. Raises MCPError for an unknown one, whose code was
    another in older revisions."""
    uri = str(params.uri)
    for each in await _services(context):
        for feed in each.feeds:
            if _uri(each, feed["name"]) == uri:
                said = await prompting.feed_of(exchange.of(context).tenant_scope, each, feed["name"])
                return {**COMPLETE, "contents": [{"uri": uri, "mimeType": _JSON, "text": said}]}
    code = INVALID_PARAMS if context.protocol_version >= "2026-07-28" else -32002
    raise MCPError(code, f"There is no resource {uri[:200]!r}.", {"uri": uri[:200]})


async def _services(context: Context) -> list[InPrompts]:
    """What the services of the tools that this caller may use have for prompts."""
    policy = await tools.policy_of(context)
    return prompting.concerning(policy, [tool.name for tool in evaluation.offered(policy)])


def _about(service: InPrompts) -> dict[str, str]:
    title = f"How to use {service.slug}"
    return {"title": title, "description": f"Guidance about the tools of the service {service.slug}."}


def _uri(service: InPrompts, feed: str) -> str:
    return f"toolgate://services/{service.slug}/feeds/{quote(feed, safe='')}"
