"""What a client that runs its own loop is configured with: `/api/v1/agents/{slug}/native`. No credential is in it."""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.providers.translation import arguments
from gateway.providers.translation.names import Names
from gateway.rest.framework.schema import refusals
from gateway.rest.tools import RightsView
from gateway.runs.errors import InvalidRequest, NoSuchAgent
from tools import definitions
from tools.interface import ToolSpec
from tools.invocation import evaluation

_VARIABLE = "TOOLGATE_KEY"


def _server(url: str, key: str) -> dict[str, Any]:
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}


def _claude(url: str) -> dict[str, Any]:
    return {"mcpServers": {"toolgate": _server(url, f"${{{_VARIABLE}}}")}}


def _cursor(url: str) -> dict[str, Any]:
    return {"mcpServers": {"toolgate": _server(url, f"${{env:{_VARIABLE}}}")}}


def _vscode(url: str) -> dict[str, Any]:
    asked = {"type": "promptString", "id": "toolgate-key", "description": "Toolgate API key", "password": True}
    return {"inputs": [asked], "servers": {"toolgate": _server(url, "${input:toolgate-key}")}}


# By client: the file that it reads, and what goes into it. Each reads the key from where it keeps secrets.
CONFIGURATIONS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "claude-code": (".mcp.json", _claude),
    "cursor": (".cursor/mcp.json", _cursor),
    "vscode": (".vscode/mcp.json", _vscode),
}
# By client: the tools of a request to its provider.
DEFINITIONS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "openai": definitions.openai,
    "anthropic": definitions.anthropic,
    "gemini": definitions.gemini,
}
CLIENTS = (*CONFIGURATIONS, *DEFINITIONS)


class NativeTool(serializers.Serializer[Any]):
    """One of the agent's tools, and what a provider is told that it is called."""

    name = serializers.CharField()
    alias = serializers.CharField(help_text="Without dots: what the tool is called in `definitions`.")
    arguments = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="Arguments that have other names in `definitions`, which not all providers accept: by those.",
    )


class Native(serializers.Serializer[Any]):
    """A client's configuration: either a `file` with its `config`, or `definitions`."""

    client = serializers.ChoiceField(choices=CLIENTS)
    agent = serializers.CharField()
    tools = NativeTool(many=True)
    file = serializers.CharField(required=False, help_text="Where the client reads `config`.")
    config = serializers.DictField(required=False, help_text="Names the key by a variable, and never holds one.")
    definitions = serializers.ListField(
        required=False, child=serializers.DictField(), help_text="The `tools` of a request to that provider."
    )


class NativeView(RightsView):
    """An agent's tools for a client that runs its own loop."""

    @extend_schema(
        operation_id="get_native_tools",
        parameters=[OpenApiParameter("client", str, enum=list(CLIENTS), required=True)],
        responses={200: Native, **refusals(InvalidRequest, NoSuchAgent)},
    )
    async def get(self, request: Request, slug: str) -> Response:
        """The tools that the caller may use under the agent, as the client wants them; without credentials."""
        client = request.query_params.get("client", "")
        if client not in CLIENTS:
            raise InvalidRequest(f"client must be one of {', '.join(CLIENTS)}.", "client")
        known, agent = await self.rights_under(slug)
        specs = [tool.spec for tool in evaluation.offered(known.policy, agent, "native")]
        of_tools, sent = arguments.for_providers(specs)
        names = Names((spec.name for spec in specs), of_tools)
        body = {"client": client, "agent": agent, "tools": [_named(spec.name, names) for spec in specs]}
        return Response(body | _for(client, sent, names, settings.OAUTH_RESOURCE))


def _named(name: str, names: Names) -> dict[str, Any]:
    """A tool, with what a client that has `definitions` has to know to report or make a call of it."""
    found = names.arguments.get(name)
    return {"name": name, "alias": names.alias(name)} | ({"arguments": found.names} if found else {})


def _for(client: str, specs: Iterable[ToolSpec], names: Names, url: str) -> dict[str, Any]:
    if client in DEFINITIONS:
        return {"definitions": DEFINITIONS[client](specs, names.alias)}
    file, made = CONFIGURATIONS[client]
    return {"file": file, "config": made(url)}
