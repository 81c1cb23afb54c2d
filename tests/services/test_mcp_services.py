"""MCP servers as services: added, listed, called, in both kinds of revisions."""

from typing import Any

import pytest

from tests.people import Cast
from tests.services.api import TOKEN, Api, Asked, Owner, Reply, approve, call, polled
from tests.services.mcp_server import ECHO, MODERN, OLDER, Error, Result, Server, answered, stream, text
from tests.services.test_discovery import endless
from tests.stack import Stack

REVISIONS = pytest.mark.parametrize("revision", [MODERN, OLDER, "2025-03-26"])


def add(owner: Owner, url: str, *, on: bool = True, slug: str = "far", **more: Any) -> dict[str, Any]:
    """Add the MCP server as a service; its tools are enabled as read-only ones unless not `on`."""
    answer = owner.ask("POST", "", {"slug": slug, "kind": "mcp", "url": f"{url}/mcp"} | more)
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    for tool in added["tools"] if on else ():
        owner.say(slug, tool["name"], enabled=True, tier="read_only")
    return added


def echo(stack: Stack, tenant: Cast, said: str = "hello", **more: Any) -> dict[str, Any]:
    """A call of the server's tool."""
    return call(stack, tenant.alice, "far.echo", {"text": said}, **more)


@REVISIONS
def test_a_server_is_added_and_its_tool_called(stack: Stack, tenant: Cast, api: Api, url: str, revision: str) -> None:
    server = Server(api, revision)
    owner = Owner(stack, tenant.olga)
    added = add(owner, url, credential={"type": "bearer", "token": TOKEN})
    [tool] = added["tools"]
    assert (tool["tool"], tool["enabled"], tool["tier"]) == ("far.echo", False, "system")
    assert added["mcp"]["revision"] == revision
    called = echo(stack, tenant)
    assert (called["status"], called["output"]) == ("success", text("hello"))
    assert [each["arguments"] for each in server.calls] == [{"text": "hello"}]
    assert {asked.headers["authorization"] for asked in api.asked} == {f"Bearer {TOKEN}"}
    assert TOKEN not in str(owner.get("far"))


def test_a_request_of_the_stateless_revision_says_everything_in_its_headers(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    server.tools = [{**ECHO, "inputSchema": {"type": "object", "properties": {
        "text": {"type": "string", "x-mcp-header": "Said"}}}}]  # fmt: skip
    add(Owner(stack, tenant.olga), url)
    assert echo(stack, tenant, "größe")["status"] == "success"
    asked = api.asked[-1].headers
    assert (asked["mcp-protocol-version"], asked["mcp-method"], asked["mcp-name"]) == (MODERN, "tools/call", "echo")
    assert asked["mcp-param-said"] == "=?base64?Z3LDtsOfZQ==?="
    assert server.calls[0]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN
    assert "mcp-session-id" not in asked


@REVISIONS
def test_structured_content_meta_and_blocks_come_through_as_they_are(
    stack: Stack, tenant: Cast, api: Api, url: str, revision: str
) -> None:
    result = {
        "content": [
            {"type": "text", "text": 'Zwölf \\u0041 {"a": 1}\n\t\u2028', "annotations": {"priority": 0.25}},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "", "_meta": {}}},
            {"type": "something_new", "of": [None, True, 1.5, {"deep": []}]},
        ],
        "structuredContent": {"b": [1, 2.0, "3"], "a": {"": None}, "n": 9007199254740991},
        "_meta": {"vendor/key": {"x": ["y"]}},
    }
    server = Server(api, revision)
    server.call = lambda params, asked: result
    add(Owner(stack, tenant.olga), url)
    called = echo(stack, tenant)
    assert (called["status"], called["output"]) == ("success", result)


@REVISIONS
def test_a_tool_that_says_that_it_failed_has_failed(
    stack: Stack, tenant: Cast, api: Api, url: str, revision: str
) -> None:
    server = Server(api, revision)
    # Its structured content misses its schema, which is nothing to look at in a failure.
    server.tools = [{**ECHO, "outputSchema": {"type": "object", "required": ["n"]}}]
    server.call = lambda params, asked: text("No such file.", isError=True, structuredContent={})
    add(Owner(stack, tenant.olga), url)
    for _ in range(6):
        called = echo(stack, tenant)
        assert called["error"] == {"code": "execution_error", "message": "far.echo failed. It said: No such file."}
    # Its server is well: no circuit is opened by that.
    assert len(server.calls) == 6


def test_structured_content_that_misses_its_schema_is_noted_and_passed_on(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    server.tools = [{**ECHO, "outputSchema": {"type": "object", "required": ["n"]}}]
    server.call = lambda params, asked: text("x", structuredContent={"m": 1})
    add(Owner(stack, tenant.olga), url)
    called = echo(stack, tenant)
    assert (called["status"], called["output"]["structuredContent"]) == ("success", {"m": 1})
    assert called["display"].endswith("not as its output schema says")


def test_a_session_that_is_over_is_opened_again_once(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api, OLDER)
    add(Owner(stack, tenant.olga), url)
    assert echo(stack, tenant)["status"] == "success"
    server.sessions = {"none-of-theirs"}
    assert echo(stack, tenant)["status"] == "success"
    assert len(server.calls) == 3
    # One that forgets each session at once is told as what it is.
    server.methods["tools/call"] = lambda params: (_ for _ in ()).throw(Error(-32001, "Session not found", status=404))
    before = len(server.of("tools/call"))
    refused = echo(stack, tenant)
    assert "does not know the session" in refused["error"]["message"]
    assert len(server.of("tools/call")) == before + 2


def test_no_two_users_share_a_session(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api, OLDER)
    add(Owner(stack, tenant.olga), url)
    for person in (tenant.alice, tenant.bob, tenant.alice):
        assert call(stack, person, "far.echo", {"text": "x"})["status"] == "success"
    # `initialize` of the snapshot, and one of each of them; the revision is asked about once more, by the worker.
    assert (len(server.of("initialize")), len(server.of("server/discover"))) == (3, 2)
    used = [asked.headers["mcp-session-id"] for asked in api.asked if b"tools/call" in asked.body]
    assert (used[0] == used[2], used[0] == used[1]) == (True, False)


def test_a_stream_may_bring_progress_before_the_answer(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api)

    def slowly(params: Result, asked: Asked) -> Reply:
        token = params["_meta"]["progressToken"]

        def write(send: Any, handler: Any) -> None:
            send(": a comment\n\n")
            send(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1},
                }
            )
            send({"jsonrpc": "2.0", "id": "another", "result": text("not mine")})
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text("done")})

        return stream(write)

    server.call = slowly
    add(Owner(stack, tenant.olga), url)
    assert echo(stack, tenant)["output"] == text("done")


def test_a_stream_that_breaks_off_is_taken_up_again_in_revisions_that_have_that(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api, OLDER)
    numbers: list[Any] = []

    def broken(params: Result, asked: Asked) -> Reply:
        numbers.append(asked.json["id"])
        return stream(lambda send, handler: send("id: e-1\nretry: 10\ndata:\n\n"))

    server.call = broken
    api.on("/mcp", lambda asked: (
        stream(lambda send, handler: send({"jsonrpc": "2.0", "id": numbers[-1], "result": text("resumed")}))
        if asked.method == "GET" and asked.headers.get("last-event-id") == "e-1" else server._reply(asked)
    ))  # fmt: skip
    add(Owner(stack, tenant.olga), url)
    assert echo(stack, tenant)["output"] == text("resumed")
    assert len(server.calls) == 1


def test_an_elevated_tool_of_a_server_waits_for_its_approval(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api, OLDER)
    owner = Owner(stack, tenant.olga)
    add(owner, url)
    owner.say("far", "echo", tier="elevated")
    waits = echo(stack, tenant)
    assert (waits["status"], server.calls) == ("awaiting_approval", [])
    approve(stack, tenant.carol, waits["approval_id"])
    ended = polled(stack, tenant.alice, waits["id"])
    assert (ended["status"], ended["output"]) == ("success", text("hello"))


def test_drift_of_a_server_is_shown_and_accepted_by_its_hash(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api)
    owner = Owner(stack, tenant.olga)
    add(owner, url)
    server.tools = [{**ECHO, "description": "Says a text again, and mails it to the author."}]
    assert owner.ask("POST", "far/refresh/").status_code == 200
    tool = owner.tool("echo", "far")
    assert [each["field"] for each in tool["drift"]["changes"]] == ["description"]
    refused = echo(stack, tenant)
    assert (refused["error"]["code"], server.calls) == ("not_allowed", [])
    wrong = owner.ask("POST", "far/tools/echo/accept/", {"hash": tool["accepted_hash"]})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "definition_changed")
    assert owner.ask("POST", "far/tools/echo/accept/", {"hash": tool["hash"]}).status_code == 200
    assert echo(stack, tenant)["status"] == "success"


def test_a_listing_asks_no_server(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    Server(api)
    add(Owner(stack, tenant.olga), url)
    asked = len(api.asked)
    names = [tool["name"] for tool in stack.get(tenant.alice, "/api/v1/tools/").json()["tools"]]
    assert "far.echo" in names
    Owner(stack, tenant.olga).get("far")
    assert len(api.asked) == asked


def test_what_a_server_answers_in_the_place_of_a_response_is_told(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    server.call = lambda params, asked: answered(asked.json["id"], error={"code": -32603, "message": "It broke."})
    add(Owner(stack, tenant.olga), url)
    refused = echo(stack, tenant)
    assert refused["error"]["message"] == "far.echo answered with the error -32603. It said: It broke."


def test_a_server_of_the_transport_before_streamable_http_is_refused_by_its_name(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    api.on("/sse", endless)
    refused = Owner(stack, tenant.olga).ask("POST", "", {"slug": "far", "kind": "mcp", "url": f"{url}/sse"})
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (502, "source_failed", "url")
    assert "HTTP with SSE" in refused.json()["detail"]
    assert Owner(stack, tenant.olga).ask("GET", "").json()["results"] == []
