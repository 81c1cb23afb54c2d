"""What MCP servers throw at a snapshot and at a call: each is told in words, within bounds of size and time."""

import gzip
import ipaddress
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from services import changes
from services.changes import NewService
from services.errors import InvalidService, SourceFailed
from services.reading import sources
from tenants.scope import transactions
from tests.people import Cast
from tests.services.api import OUTSIDE, TOKEN, Api, Asked, Reply, as_json
from tests.services.mcp_server import ECHO, MODERN, OLDER, Error, Server, answered, stream, text
from tests.services.test_mcp_drift import called
from tests.services.test_mcp_passing_on import add
from tests.waiting import eventually
from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolTimeout

BEARER = {"type": "bearer", "token": TOKEN}
METADATA = "http://169.254.169.254/latest/meta-data/"
Broken = Callable[[Any, Asked], Any]


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """The servers of these tests may be reached."""
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ipaddress.ip_network(OUTSIDE),))):
        yield


async def offered(tenant: Cast, url: str, **more: Any) -> Any:
    """What a server offers, as it is read when it is added."""
    wanted = NewService.read({"slug": "far", "kind": "mcp", "url": f"{url}/mcp", **more})
    source = await sources.of("mcp", {}, wanted.url, wanted.credential, tenant.olga.scope)
    return source.offer("far")


def endless(params: Any, asked: Asked) -> Reply:
    """Notifications without end."""

    def write(send: Any, handler: Any) -> None:
        while True:
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 1000}})

    return stream(write)


def one_line(params: Any, asked: Asked) -> Reply:
    """An event without an end."""

    def write(send: Any, handler: Any) -> None:
        send("data: ")
        while True:
            send("x" * 65536)

    return stream(write)


def hundred_megabytes(params: Any, asked: Asked) -> Reply:
    """A result that nobody can keep."""

    def write(handler: Any) -> None:
        handler.wfile.write(b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "')
        for _ in range(1600):
            handler.wfile.write(b"x" * 65536)

    return Reply(200, headers={"Content-Type": "application/json"}, write=write)


def packed(params: Any, asked: Asked) -> Reply:
    """A bomb."""
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return Reply(200, gzip.compress(b"0" * 10_000_000), headers)


def deep(params: Any, asked: Asked) -> Reply:
    """JSON that is nested deeply."""
    body = b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * 200 + b"]" * 200 + b"}"
    return Reply(200, body, {"Content-Type": "application/json"})


def hangs_up(params: Any, asked: Asked) -> Reply:
    """A stream that ends before the answer."""
    return stream(lambda send, handler: send(": hello\n\n"))


def html(params: Any, asked: Asked) -> Reply:
    """A page."""
    return Reply(200, b"<html>", {"Content-Type": "text/html"})


def json_with(body: bytes) -> Broken:
    """An answer of exactly these bytes."""
    return lambda params, asked: Reply(200, body, {"Content-Type": "application/json"})


CALLS: dict[str, tuple[Broken, str]] = {
    "endless notifications": (endless, "answered more than 2,097,152 bytes"),
    "an event without an end": (one_line, "answered more than 2,097,152 bytes"),
    "100 MB": (hundred_megabytes, "answered more than 2,097,152 bytes"),
    "a packed bomb": (packed, "not unpacked"),
    "a deep result": (deep, "nested more than 64 levels deep"),
    "very deep JSON": (json_with(b"[" * 100_000), "not JSON"),
    "no JSON": (json_with(b"{"), "not JSON"),
    "no JSON-RPC": (json_with(b'"x"'), "no response to what it was asked"),
    "another's answer": (json_with(b'{"jsonrpc": "2.0", "id": "x", "result": {}}'), "no response to what it was asked"),
    "no result": (json_with(b'{"jsonrpc": "2.0"}'), "without a result"),
    "a page": (html, "neither JSON nor a stream of events"),
    "a stream that ends": (hangs_up, "could not be reached, or cut its answer off"),
    "only a receipt": (lambda params, asked: Reply(202, b""), "without answering it"),
    "a redirect inwards": (lambda p, a: Reply(307, b"", {"Location": METADATA}), "a redirect (HTTP 307), which is not"),
    "an unknown kind of result": (lambda p, a: text("x", resultType="task"), "Toolgate does not know: task"),
    "content that is none": (lambda p, a: {"content": "x"}, "a result that is none of a tool"),
    "blocks that are none": (lambda p, a: {"content": [1]}, "a result that is none of a tool"),
    "neither failed nor not": (lambda p, a: text("x", isError="no"), "a result that is none of a tool"),
    "an unknown error": (lambda p, a: answered(a.json["id"], error={"code": "x"}), "answered with the error 0"),
    "input that nobody has": (
        lambda p, a: {"resultType": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage"}}},
        "only its user can be asked",
    ),
    "the same request for ever": (
        lambda p, a: {"resultType": "input_required", "requestState": "again"}, "more than 10 times"
    ),
    "the credential": (lambda p, a: text(f"It is {TOKEN}", isError=True), "It is [credential]"),
    "the credential, escaped": (
        json_with(b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\\u0067hp' + TOKEN[3:].encode() + b'"}}'),
        "It said: [credential]",
    ),
    "a refusal of the credential": (lambda p, a: Reply(401, b"who?"), "refused the service's credential"),
    "a failure": (lambda p, a: Reply(503, TOKEN.encode()), "failed (HTTP 503). It said: [credential]"),
}  # fmt: skip


@pytest.mark.parametrize("revision", [MODERN, OLDER])
@pytest.mark.parametrize("what", CALLS)
async def test_what_a_server_answers_to_a_call_is_an_error_in_words(
    tenant: Cast, api: Api, url: str, what: str, revision: str
) -> None:
    server = Server(api, revision)
    await add(tenant, url, credential=BEARER)
    server.call, words = CALLS[what]
    with pytest.raises(ToolExecutionError) as raised:
        await called(tenant)
    assert words in raised.value.message
    assert TOKEN not in raised.value.message
    assert raised.value.message.startswith("notes.echo")


async def test_a_result_does_not_carry_the_credential(tenant: Cast, api: Api, url: str) -> None:
    server = Server(api)
    await add(tenant, url, credential=BEARER)
    server.call = lambda params, asked: text("x", structuredContent={TOKEN: [TOKEN]}, _meta={"k": asked.headers})
    assert TOKEN not in json.dumps(await called(tenant))


@pytest.mark.parametrize("revision", [MODERN, OLDER])
async def test_slow_drips_end_with_the_time_of_the_call_and_an_older_server_is_told(
    tenant: Cast, api: Api, url: str, revision: str
) -> None:
    server = Server(api, revision)
    await add(tenant, url)

    def drip(params: Any, asked: Asked) -> Reply:
        def write(send: Any, handler: Any) -> None:
            while not api.released.wait(0.05):
                send(": drip\n\n")

        return stream(write)

    # A session is there already: the time is the call's alone.
    assert await called(tenant) == text("hello")
    server.call = drip
    with pytest.raises(ToolTimeout, match="It may or may not have had its effect"):
        await called(tenant, seconds=3.0)
    if revision == OLDER:
        [cancelled] = await eventually(lambda: server.of("notifications/cancelled"))
        assert cancelled["params"]["requestId"] == server.of("tools/call")[1]["id"]


async def test_a_name_that_leads_inwards_is_not_reached(tenant: Cast, api: Api, url: str) -> None:
    Server(api)
    await add(tenant, url)

    @sync_to_async
    def move() -> None:
        with transactions.scope(*tenant.olga.scope):
            changes.change("notes", {"url": url.replace(OUTSIDE, "localhost") + "/mcp"})

    await move()
    asked = len(api.asked)
    with pytest.raises(ToolPermissionDenied, match="may not be reached"):
        await called(tenant)
    assert len(api.asked) == asked


# --- what it offers --------------------------------------------------------------------------------------------------
def tool(name: str, **more: Any) -> dict[str, Any]:
    """A tool that takes nothing."""
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def nested(levels: int) -> dict[str, Any]:
    """A schema of that depth."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels // 2):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


UNUSABLE: dict[str, tuple[Any, str]] = {
    "a schema of 70 KB": (tool("a", inputSchema={"type": "object", "description": "x" * 70_000}), "65,536"),
    "a deep schema": (tool("a", inputSchema=nested(40)), "32 levels"),
    "a deep output schema": (tool("a", outputSchema=nested(40)), "32 levels"),
    "a remote reference": (tool("a", inputSchema={"type": "object", "$ref": "https://x.example/"}), "not local"),
    "a reference to itself": (tool("a", inputSchema={"type": "object", "properties": {"a": {"$ref": "#"}}}), "itself"),
    "a long name": (tool("a" * 62), "64 characters"),
    "no name": ({"inputSchema": {"type": "object"}}, "name"),
    "a name in Cyrillic": (tool("\u0430"), "letters, digits"),
    "a name that turns round": (tool("a\u202eb"), "U+202E"),
    "bidi in a description": (tool("a", description="a\u202eb"), "U+202E"),
    "a control character in a schema": (tool("a", inputSchema={"type": "object", "title": "\u0007"}), "U+0007"),
    "an escape in a title": (tool("a", title="\x1b[2J"), "U+001B"),
    "a description of a novel": (tool("a", description="x" * 5000), "4,096"),
    "no object": ("x", "no object"),
    "a schema that is none": (tool("a", inputSchema={"type": "object", "properties": 7}), "properties"),
    "a header that is none": (
        tool("a", inputSchema={"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A B"}}}),
        "x-mcp-header",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", UNUSABLE)
async def test_a_tool_that_cannot_be_used_is_left_out_with_its_reason(
    tenant: Cast, api: Api, url: str, what: str
) -> None:
    server = Server(api)
    given, words = UNUSABLE[what]
    server.tools = [ECHO, given]
    offer = await offered(tenant, url)
    assert [each.name for each in offer.tools] == ["echo"]
    [left] = offer.mcp["left_out"]
    assert words in left["why"]
    assert left["name"].isprintable()
    # Of a server that has no other nothing can be added.
    server.tools = [given]
    with pytest.raises(InvalidService, match="No tool of the server can be used"):
        await offered(tenant, url)


REFUSED: dict[str, tuple[Callable[[int], Any], type[Exception], str]] = {
    "10,000 tools": (lambda page: {"tools": [tool(f"t{n}") for n in range(10_000)]}, InvalidService, "1,000 tools"),
    "pages without end": (
        lambda page: {"tools": [tool(f"t{page}")], "nextCursor": str(page)}, SourceFailed, "more than 20 pages"
    ),
    "pages that come back": (lambda page: {"tools": [], "nextCursor": "1"}, SourceFailed, "come back to one"),
    "no list": (lambda page: {"tools": {}}, SourceFailed, "without tools"),
    "16 MB": (
        lambda page: {"tools": [tool(f"t{page}", description="x" * 1_000_000)], "nextCursor": str(page)},
        SourceFailed, "more than 16,777,216 bytes",
    ),
    "two of one name": (lambda page: {"tools": [tool("a"), tool("a")]}, InvalidService, "Two tools of the server"),
    "two of one name for providers": (
        lambda page: {"tools": [tool("a.b"), tool("a_b")]}, InvalidService, "Two tools of the server have the name a_b"
    ),
    "only its own error": (lambda page: (_ for _ in ()).throw(Error(-1, "no")), SourceFailed, "the error -1: no"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
async def test_an_offer_that_is_too_much_is_refused(
    tenant: Cast, api: Api, url: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.mcp.listing.MAX_PAGES", 20)
    server = Server(api)
    pages = iter(range(1_000))
    make, error, words = REFUSED[what]
    server.methods["tools/list"] = lambda params: make(next(pages))
    with pytest.raises(error) as raised:
        await offered(tenant, url)
    assert words in str(raised.value)


STRANGERS: dict[str, tuple[Reply, str]] = {
    "a redirect inwards": (Reply(302, b"", {"Location": METADATA}), "a redirect (HTTP 302), which is not followed"),
    "a page": (Reply(200, b"<html>", {"Content-Type": "text/html"}), "no MCP server that Toolgate can speak to"),
    "nothing": (Reply(404, b"Not Found"), "no MCP server (HTTP 404). It said: Not Found"),
    "a log-in": (Reply(401, b""), "refuses the credential, or wants one (HTTP 401)"),
    "a revision of the future": (
        as_json({"jsonrpc": "2.0", "id": None, "error": {
            "code": -32022, "message": "no", "data": {"supported": ["2031-01-01"]}}}, 400),
        "It speaks 2031-01-01",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGERS)
async def test_what_is_no_server_is_not_added(tenant: Cast, api: Api, url: str, what: str) -> None:
    reply, words = STRANGERS[what]
    api.on("/mcp", reply)
    with pytest.raises(SourceFailed) as raised:
        await offered(tenant, url, credential=BEARER)
    assert words in raised.value.detail
    assert raised.value.field == "url"


async def test_a_revision_that_nobody_speaks_is_told_as_such(tenant: Cast, api: Api, url: str) -> None:
    Server(api, "1999-01-01")
    with pytest.raises(SourceFailed, match="It speaks 1999-01-01"):
        await offered(tenant, url)


async def test_a_server_that_lists_others_each_time_has_none_called_that_nobody_accepted(
    tenant: Cast, api: Api, url: str
) -> None:
    from services.reading import drift

    server = Server(api)
    await add(tenant, url)
    times = iter(range(1_000))
    server.methods["tools/list"] = lambda params: {"tools": [{**ECHO, "description": f"Version {next(times)}"}]}
    for _ in range(3):
        await drift.look_as_nobody(tenant.id, "notes")
        with pytest.raises(ToolError, match="was not called"):
            await called(tenant)
    assert server.calls == []
