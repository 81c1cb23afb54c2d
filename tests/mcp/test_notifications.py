"""What clients are told beside results: log messages of a call, and that a resource has changed."""

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from gateway.mcp.errors import Unauthenticated
from gateway.mcp.exchange import Exchange
from gateway.mcp.notifications import streams
from tests.mcp.raw import MODERN, OLD, Mcp, messages
from tests.people import Cast, Person
from tests.services.api import Api, Owner, serving
from tests.services.mcp_server import Server
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

LOGS = {"name": "test_tool_with_logging", "arguments": {}}
SAID = ["Tool execution started", "Tool processing data", "Tool execution completed"]
URI = "test://watched"
# What a client of 2026-07-28 listens to, and what marks everything on the stream of its request.
ASKED, OF = {"toolsListChanged": True}, {"io.modelcontextprotocol/subscriptionId": 1}


def _initialized(url: str, person: Person) -> Mcp:
    """A client that names the session which it got by `initialize`."""
    client = Mcp(url, person, OLD)
    about = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    opened = client.post("initialize", about)
    assert opened.status_code == 200, opened.text
    client.headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
    return client


def _logs(response: httpx.Response) -> list[Any]:
    found = messages(response)
    assert "result" in found[-1], found
    return [each["params"] for each in found if each.get("method") == "notifications/message"]


@contextmanager
def _listening(client: Mcp) -> Iterator[Iterator[str]]:
    """The lines of the client's standing stream."""
    headers = {**client.headers, "Accept": "text/event-stream"}
    with httpx.stream("GET", client.url, headers=headers, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream"
        yield answer.iter_lines()


@contextmanager
def _subscribed(client: Mcp) -> Iterator[Iterator[str]]:
    """The lines of the answer to `subscriptions/listen`."""
    body, headers = client.message("subscriptions/listen", {"notifications": ASKED})
    with httpx.stream("POST", client.url, json=body, headers=headers, timeout=PATIENCE_SECONDS) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream"), answer.read()
        yield answer.iter_lines()


def _shown(lines: Iterator[str]) -> dict[str, Any]:
    return dict(json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:")))


@pytest.fixture
def watched(served: "Stack", tenant: Cast) -> Iterator[dict[str, str]]:
    """What the resource URI of a service of the tenant's says, in `text`."""
    api, held = Api(), {"text": "one"}
    server = Server(api)
    server.capabilities = {"tools": {}, "resources": {}}
    server.methods = {
        "resources/templates/list": lambda params: {"resourceTemplates": []},
        "resources/list": lambda params: {"resources": [{"uri": URI, "name": "Watched"}]},
        "resources/read": lambda params: {"contents": [{"uri": URI, "text": held["text"]}]},
    }
    with serving(api) as url:
        owner = Owner(served, tenant.olga)
        added = owner.ask("POST", "", {"slug": "notes", "kind": "mcp", "url": f"{url}/mcp"})
        assert added.status_code == 201, added.text
        owner.say("notes", "echo", enabled=True)
        yield held


def test_a_client_gets_the_log_messages_from_the_level_that_it_has_set(served: "Stack", tenant: Cast) -> None:
    client, other = _initialized(served.url, tenant.alice), _initialized(served.url, tenant.alice)
    assert _logs(client.post("tools/call", LOGS)) == []
    assert client.result("logging/setLevel", {"level": "info"}) == {}
    assert _logs(client.post("tools/call", LOGS)) == [{"level": "info", "data": said} for said in SAID]
    assert client.result("logging/setLevel", {"level": "debug"}) == {}
    assert _logs(client.post("tools/call", LOGS))[1] == {"level": "debug", "logger": "inside", "data": {"step": 1}}
    assert client.result("logging/setLevel", {"level": "warning"}) == {}
    assert _logs(client.post("tools/call", LOGS)) == []
    # Another client with the same key has set nothing.
    assert _logs(other.post("tools/call", LOGS)) == []


def test_a_request_of_2026_07_28_says_itself_which_it_wants(served: "Stack", tenant: Cast) -> None:
    client = Mcp(served.url, tenant.alice, MODERN)
    assert _logs(client.post("tools/call", LOGS)) == []
    meta = {"io.modelcontextprotocol/logLevel": "info"}
    assert [each["data"] for each in _logs(client.post("tools/call", {**LOGS, "_meta": meta}))] == SAID


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": URI}),
        ("resources/unsubscribe", {"uri": URI}),
    ],
)
def test_what_lasts_needs_a_session(served: "Stack", tenant: Cast, method: str, params: dict[str, Any]) -> None:
    error = Mcp(served.url, tenant.alice, OLD).error(method, params)
    assert error["data"] == {"code": "session_required"}
    assert "Mcp-Session-Id" in error["message"]


def test_a_level_that_there_is_not_is_refused(served: "Stack", tenant: Cast) -> None:
    assert _initialized(served.url, tenant.alice).error("logging/setLevel", {"level": "loud"})["code"] == -32602


def test_the_standing_stream_tells_which_watched_resource_has_changed(
    served: "Stack", tenant: Cast, watched: dict[str, str]
) -> None:
    client, other = _initialized(served.url, tenant.alice), _initialized(served.url, tenant.alice)
    for each in (client, other):
        assert each.result("resources/subscribe", {"uri": URI}) == {}
    assert other.result("resources/unsubscribe", {"uri": URI}) == {}
    watched["text"] = "two"
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": URI}}
    with _listening(client) as lines:
        assert _shown(lines) == updated
    # It was told once; and who has ended the subscription is not told at all.
    for each in (client, other):
        with _listening(each) as lines:
            assert next(lines) == ": keep-alive"


def test_nobody_subscribes_to_what_they_may_not_read(
    served: "Stack", tenant: Cast, other_tenant: Cast, watched: dict[str, str]
) -> None:
    for person, uri in ((tenant.alice, "test://nothing"), (other_tenant.alice, URI)):
        error = _initialized(served.url, person).error("resources/subscribe", {"uri": uri})
        assert (error["code"], error["data"]) == (-32002, {"uri": uri})


def test_a_client_watches_twenty_resources_at_most(served: "Stack", tenant: Cast) -> None:
    api = Api()
    server = Server(api)
    server.capabilities = {"tools": {}, "resources": {}}
    listed = [{"uri": f"test://{number}", "name": str(number)} for number in range(21)]
    server.methods = {
        "resources/templates/list": lambda params: {"resourceTemplates": []},
        "resources/list": lambda params: {"resources": listed},
        "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "one"}]},
    }
    with serving(api) as url:
        owner = Owner(served, tenant.olga)
        assert owner.ask("POST", "", {"slug": "many", "kind": "mcp", "url": f"{url}/mcp"}).status_code == 201
        owner.say("many", "echo", enabled=True)
        client = _initialized(served.url, tenant.alice)
        for each in listed[:20]:
            assert client.result("resources/subscribe", {"uri": each["uri"]}) == {}
        assert client.error("resources/subscribe", {"uri": "test://20"})["data"] == {"code": "too_many_subscriptions"}
        # One that is watched already is none more.
        assert client.result("resources/subscribe", {"uri": "test://0"}) == {}


def test_a_key_has_sixteen_standing_streams_at_most(served: "Stack", tenant: Cast) -> None:
    client = _initialized(served.url, tenant.bob)
    headers = {**client.headers, "Accept": "text/event-stream"}
    with httpx.Client(headers=headers, timeout=PATIENCE_SECONDS) as http:
        opened = []
        while len(opened) <= 16:
            answer = http.send(http.build_request("GET", client.url), stream=True)
            if answer.status_code != 200:
                break
            opened.append(answer)
        answer.read()
        assert (answer.status_code, answer.json()["error"]["data"]) == (429, {"code": "too_many_streams"})
        for each in opened:
            each.close()


def test_a_standing_stream_does_not_hold_up_a_process_that_stops(served: "Stack", tenant: Cast) -> None:
    client = _initialized(served.url, tenant.carol)
    with _listening(client) as lines, _subscribed(Mcp(served.url, tenant.carol, MODERN)) as shown:
        next(lines)
        honored = {
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": ASKED, "_meta": OF},
        }
        assert _shown(shown) == {"jsonrpc": "2.0"} | honored
        served.kill("web", signal.SIGTERM)
        # They are ended by the server, and not cut.
        assert set(lines) <= {"", ": keep-alive"}
        ended = _shown(shown)
        assert (ended["id"], ended["result"]["_meta"].items() >= OF.items()) == (1, True)
    served.start("web")
    served.wait_ready()


def test_log_messages_of_a_service_are_passed_on_under_its_name(served: "Stack", tenant: Cast) -> None:
    from tests.services.mcp_server import OLDER, stream, text

    api = Api()
    server = Server(api, OLDER)

    def call(params: dict[str, Any], asked: Any) -> Any:
        def write(send: Any, handler: Any) -> None:
            for said in ({"level": "info", "logger": "db", "data": {"rows": 3}}, {"level": "loud", "data": 1}):
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": said})
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text("done")})

        return stream(write)

    server.call = call
    with serving(api) as url:
        owner = Owner(served, tenant.olga)
        assert owner.ask("POST", "", {"slug": "logging", "kind": "mcp", "url": f"{url}/mcp"}).status_code == 201
        owner.say("logging", "echo", enabled=True, tier="read_only")
        client = _initialized(served.url, tenant.alice)
        client.result("logging/setLevel", {"level": "debug"})
        answered = client.post("tools/call", {"name": "logging.echo", "arguments": {"text": "a"}})
    assert _logs(answered) == [{"level": "info", "logger": "logging: db", "data": {"rows": 3}}]


class _Silent:
    """A request whose client neither says anything nor hangs up."""

    async def hung_up(self) -> None:
        await asyncio.Event().wait()


async def test_a_standing_stream_ends_when_its_key_does() -> None:
    async def revoked() -> None:
        raise Unauthenticated

    nobody: Any = None
    silent: Any = _Silent()
    assert [piece async for piece in streams._events(silent, Exchange(nobody, check_key=revoked))] == []
