"""The MCP server that the conformance suite's prompts and resources are of, as a service of a tenant's."""

from typing import Any

from tests.services.api import Api
from tests.services.mcp_server import Error, Server

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
_TEXT, _BINARY = "test://static-text", "test://static-binary"
RESOURCES = [
    {"uri": _TEXT, "name": "Static text", "mimeType": "text/plain"},
    {"uri": _BINARY, "name": "Static binary", "mimeType": "image/png"},
    {"uri": "test://watched-resource", "name": "Watched", "mimeType": "text/plain"},
]
TEMPLATES = [{"uriTemplate": "test://template/{id}/data", "name": "Data of an id", "mimeType": "application/json"}]


def _arguments(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "description": name, "required": True} for name in names]


PROMPTS = [
    {"name": "test_simple_prompt", "description": "Says something."},
    {"name": "test_prompt_with_arguments", "description": "Says two.", "arguments": _arguments("arg1", "arg2")},
    {"name": "test_prompt_with_embedded_resource", "description": "Shows one.", "arguments": _arguments("resourceUri")},
    {"name": "test_prompt_with_image", "description": "Shows a picture."},
    {"name": "test_input_required_result_prompt", "description": "Asks its reader."},
]


def _read(params: dict[str, Any]) -> dict[str, Any]:
    uri = params["uri"]
    if uri == _BINARY:
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": _PNG}]}
    if uri == _TEXT:
        text = "This is the content of the static text resource."
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}
    number = uri.removeprefix("test://template/").removesuffix("/data")
    text = f'{{"id": "{number}", "templateTest": true, "data": "Data for ID: {number}"}}'
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}


def _said(*content: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": each} for each in content]}


def _prompt(params: dict[str, Any]) -> dict[str, Any]:
    given = params.get("arguments") or {}
    words = {"type": "text", "text": "This is a simple prompt for testing."}
    match params["name"]:
        case "test_simple_prompt":
            return _said(words)
        case "test_prompt_with_arguments":
            return _said(
                {"type": "text", "text": f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"}
            )
        case "test_prompt_with_embedded_resource":
            found = {"uri": given["resourceUri"], "mimeType": "text/plain", "text": "Embedded resource content."}
            return _said({"type": "resource", "resource": found}, words)
        case "test_input_required_result_prompt":
            if params.get("inputResponses"):
                assert params["requestState"] == "of the server", params
                return _said({"type": "text", "text": f"Answered: {params['inputResponses']}"})
            schema = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
            asked = {"message": "What context should the prompt use?", "requestedSchema": schema}
            requests = {"user_context": {"method": "elicitation/create", "params": asked}}
            return {"resultType": "input_required", "inputRequests": requests, "requestState": "of the server"}
        case "test_prompt_with_image":
            return _said({"type": "image", "data": _PNG, "mimeType": "image/png"}, words)
    raise Error(-32602, "Unknown prompt")


def suites(api: Api) -> Server:
    """The server at `/mcp` of an API."""
    server = Server(api)
    # Guidance is a prompt, which a tool of the suite takes away and puts back.
    server.instructions = "Use them as the suite does."
    server.capabilities = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    server.methods = {
        "resources/list": lambda params: {"resources": RESOURCES},
        "resources/templates/list": lambda params: {"resourceTemplates": TEMPLATES},
        "resources/read": _read,
        "prompts/list": lambda params: {"prompts": PROMPTS},
        "prompts/get": _prompt,
        "completion/complete": lambda params: {
            "completion": {"values": ["paris", "park"], "total": 2, "hasMore": False}
        },
    }
    return server
