"""What is at an address that somebody pasted: found without a guess that calls a tool, within bounds, or refused."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from services.errors import InvalidService, NothingFound
from services.reading import discovery
from tests.services.api import TRADING, Api, Asked, Reply, as_json
from tests.services.calling import allowed
from tests.services.mcp_server import Error, Server

SPEC = {
    "openapi": "3.0.3",
    "info": {"title": "Étoiles & Co"},
    "paths": {
        "/a": {"get": {"operationId": "a", "summary": "First"}, "post": {"operationId": "twice"}},
        "/b": {"get": {"operationId": "twice"}, "delete": {}},
    },
}


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with allowed():
        yield


def initialized(asked: Asked) -> Reply:
    """What an MCP server answers `initialize`, and nothing else."""
    if asked.method != "POST":
        return Reply(405)
    assert asked.json["method"] == "initialize"
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "files", "title": "My files"}}
    message = json.dumps({"jsonrpc": "2.0", "id": asked.json["id"], "result": result})
    return Reply(200, f"event: message\ndata: {message}\n\n".encode(), {"Content-Type": "text/event-stream"})


async def test_a_descriptor_is_found_with_its_tools(api: Api, url: str) -> None:
    api.on("/d.json", as_json(TRADING | {"name": "Trading desk"}))
    found = await discovery.look(f"{url}/d.json")
    assert (found.kind, found.url, found.slug, found.document) == ("http", url, "trading-desk", f"{url}/d.json")
    assert [each["name"] for each in found.tools] == ["get_market_context", "execute_trade", "get_order"]


async def test_an_openapi_document_is_found_with_its_operations_each_by_a_name_of_its_own(api: Api, url: str) -> None:
    api.on("/v3/spec", as_json(SPEC | {"servers": [{"url": "../api"}]}))
    found = await discovery.look(f"  {url}/v3/spec ")
    assert (found.kind, found.url, found.slug) == ("openapi", f"{url}/api", "toiles-co")
    assert [each.name for each in found.choices] == ["a", "POST /a", "GET /b", "DELETE /b"]
    assert found.choices[0].summary == "First"


@pytest.mark.parametrize(
    "servers", [[{"url": "https://{region}.example.com"}], [{"url": "http://169.254.169.254/"}], [], "x"]
)
async def test_a_server_that_cannot_be_called_is_not_suggested(api: Api, url: str, servers: Any) -> None:
    api.on("/openapi.json", as_json(SPEC | {"servers": servers}))
    assert (await discovery.look(f"{url}/openapi.json")).url == url


async def test_an_mcp_server_is_found_by_initialize_alone(api: Api, url: str) -> None:
    api.on("/mcp", initialized)
    found = await discovery.look(f"{url}/mcp")
    assert (found.kind, found.url, found.title, found.needs_credential) == ("mcp", f"{url}/mcp", "My files", False)
    assert [asked.method for asked in api.asked] == ["GET", "POST"]


async def test_a_server_that_wants_a_credential_first_may_be_an_mcp_server(api: Api, url: str) -> None:
    api.on("/mcp", as_json({}, 401))
    found = await discovery.look(f"{url}/mcp")
    assert (found.kind, found.needs_credential) == ("mcp", True)


async def test_the_document_of_a_host_is_found_where_documents_are(api: Api, url: str) -> None:
    api.on("/openapi.json", as_json(SPEC))
    found = await discovery.look(url)
    assert (found.kind, found.document) == ("openapi", f"{url}/openapi.json")
    assert len(api.asked) == 3


@pytest.mark.parametrize(
    "answer",
    [
        Reply(200, b"<html>"), Reply(200, b"swagger: 2.0"), as_json({"swagger": "2.0"}), as_json([1]), as_json({}),
        Reply(302, b"", {"Location": "http://169.254.169.254/"}), Reply(200, b"\xff"), as_json({"jsonrpc": "2.0"}),
        Reply(500), Reply(200, b'data: {"jsonrpc": "2.0"}\n\n'),
    ],
)  # fmt: skip
async def test_what_offers_no_tools_is_refused_with_what_was_tried(api: Api, url: str, answer: Reply) -> None:
    api.on("/", answer)
    with pytest.raises(NothingFound, match="As a document: .* As an MCP server: "):
        await discovery.look(f"{url}/x")
    assert len(api.asked) == 3


async def test_a_reason_that_is_the_same_for_all_is_said_once(api: Api, url: str) -> None:
    away = url.rpartition(":")[0] + ":9/mcp"
    with pytest.raises(NothingFound) as nothing:
        await discovery.look(away)
    assert str(nothing.value.detail).count("could not be reached") == 1


async def test_an_mcp_server_s_tools_are_listed_to_who_may_see_them(api: Api, url: str) -> None:
    server = Server(api)
    found = await discovery.listed(await discovery.look(f"{url}/mcp"))
    assert [each["name"] for each in found.tools] == ["echo"] and not found.needs_credential
    assert server.calls == []

    def wants_a_credential(params: dict[str, Any]) -> dict[str, Any]:
        raise Error(-32000, "Unauthorized", status=401)

    server.methods["tools/list"] = wants_a_credential
    found = await discovery.listed(await discovery.look(f"{url}/mcp"))
    assert (found.tools, found.needs_credential) == ([], True)
    server.methods["tools/list"] = lambda params: {"tools": "none"}
    found = await discovery.listed(await discovery.look(f"{url}/mcp"))
    assert (found.kind, found.tools, found.needs_credential) == ("mcp", [], False)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "http://169.254.169.254/latest",
        "http://127.0.0.1:1/",
        "file:///etc/passwd",
        "http://a@b.example/",
        "http://[::1]/",
    ],
)
async def test_an_address_that_may_not_be_asked_is_refused(address: str) -> None:
    with pytest.raises(InvalidService):
        await discovery.look(address)


def test_a_broken_document_says_where_it_is_broken() -> None:
    broken = TRADING | {"tools": [{"name": "a b"}]}
    with pytest.raises(InvalidService) as refused:
        discovery.of_text(json.dumps(broken))
    assert refused.value.field is not None
    with pytest.raises(InvalidService):
        discovery.of_text(json.dumps(SPEC | {"openapi": "2.9"}))


def endless(asked: Asked) -> Reply:
    """What a server of HTTP with SSE answers: the address for messages, on a stream that does not end."""
    if asked.method != "GET":
        return Reply(405)

    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"event: endpoint\ndata: /messages?session=1\n\n")
        handler.wfile.flush()
        # Until the client hangs up.
        handler.rfile.read(1)

    return Reply(200, headers={"Content-Type": "text/event-stream"}, write=write)


async def test_the_transport_of_2024_11_05_is_named_at_once(api: Api, url: str) -> None:
    api.on("/sse", endless)
    with pytest.raises(NothingFound, match="HTTP with SSE, .* Streamable HTTP at another address"):
        await discovery.look(f"{url}/sse")
    assert [asked.method for asked in api.asked] == ["GET", "POST"]


@pytest.mark.parametrize("variables", [{"region": {"default": "eu"}}, {"region": {"default": "eu", "enum": ["eu"]}}])
async def test_variables_of_a_server_have_their_defaults(api: Api, url: str, variables: Any) -> None:
    servers = [{"url": "https://{region}.example.com/v2", "variables": variables}]
    api.on("/openapi.json", as_json(SPEC | {"servers": servers}))
    assert (await discovery.look(f"{url}/openapi.json")).url == "https://eu.example.com/v2"
