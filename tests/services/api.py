"""An HTTP API outside of Toolgate that a test writes, the descriptors of it, and what owners do over REST."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.stack import Stack
from tests.waiting import until

if TYPE_CHECKING:
    from tests.people import Person

# Where the APIs of these tests are: allowed by the operator, as the rest of the machine is not.
OUTSIDE = "127.0.0.2"
TOKEN = "ghp-live-9f31c2d7e8b04a5c"


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """As it was sent, nothing decoded."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        """Decoded."""
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """One answer; `write` sends the body in its own way."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    write: Callable[[BaseHTTPRequestHandler], None] | None = None


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    named = {name.replace("_", "-"): each for name, each in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"} | named)


class Api:
    """A server whose answers a test sets by path; `asked` is what came."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: dict[str, Callable[[Asked], Reply]] = {}
        self.released = threading.Event()

    def on(self, path: str, answer: Reply | Callable[[Asked], Reply]) -> None:
        """What paths that begin so are answered with; the longest beginning counts."""
        self.answers[path] = answer if callable(answer) else lambda asked: answer

    def of(self, path: str) -> list[Asked]:
        """What was asked of paths that begin so."""
        return [each for each in self.asked if each.path.startswith(path)]

    def reply(self, asked: Asked) -> Reply:
        """The answer to a request."""
        self.asked.append(asked)
        found = max((path for path in self.answers if asked.path.startswith(path)), key=len, default=None)
        return as_json({"message": "Not Found"}, 404) if found is None else self.answers[found](asked)


@contextmanager
def serving(api: Api, host: str = OUTSIDE) -> Iterator[str]:
    """The API's address, while it is up."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:
                self.close_connection = True

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            reply = api.reply(asked)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.write is None:
                self.send_header("Content-Length", str(len(reply.body)))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            if reply.write is None:
                self.wfile.write(b"" if self.command == "HEAD" else reply.body)
            else:
                reply.write(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    class Listener(ThreadingHTTPServer):
        # Beyond its usual five, a connection is only tried again a second later.
        request_queue_size = 128
        daemon_threads = True

    server = Listener((host, 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        api.released.set()
        server.shutdown()
        server.server_close()


# As in document 001, with names of our own.
TRADING = {
    "version": 2,
    "description": "A trading desk: market context and orders.",
    "tools": [
        {
            "name": "get_market_context",
            "description": "Retrieve agent-scoped market context: positions, balance, buying power",
            "inputSchema": {
                "type": "object",
                "properties": {"claw_id": {"type": "string", "description": "Agent identifier"}},
                "required": ["claw_id"],
            },
            "http": {"method": "GET", "path": "/api/v1/market_context/{claw_id}"},
            "annotations": {"readOnly": True},
        },
        {
            "name": "execute_trade",
            "description": "Execute a market order",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "symbol": {"type": "string"},
                    "side": {"type": "string", "enum": ["buy", "sell"]},
                    "quantity": {"type": "number"},
                },
                "required": ["symbol", "side", "quantity"],
            },
            "http": {"method": "POST", "path": "/api/v1/trades", "body": "json"},
            "annotations": {"readOnly": False},
        },
        {
            "name": "get_order",
            "description": "One order",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "order_id": {"type": ["string", "integer"]},
                    "verbose": {"type": "boolean"},
                    "fields": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["order_id"],
            },
            "http": {"method": "GET", "path": "/api/v1/orders/{order_id}"},
        },
    ],
    "feeds": [{"name": "market-context", "path": "/api/v1/market_context/{claw_id}", "ttl": 30}],
    "skill": "Check the risk limits before you trade.",
    "auth": {"type": "bearer", "env": "TRADING_API_TOKEN"},
}  # fmt: skip
SERVICES = "/api/v1/services/"


class Owner:
    """What somebody does with services over REST."""

    def __init__(self, stack: Stack, person: "Person", url: str = ""):
        self._url, self._person = url or stack.url, person

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """One request; `path` is below the services'."""
        url = f"{self._url}{SERVICES}{path}"
        return httpx.request(method, url, json=body, headers=self._person.headers)

    def add(self, url: str, *, on: bool = True, slug: str = "desk", **more: Any) -> dict[str, Any]:
        """Add a service; its tools are enabled as read-only ones unless not `on`."""
        body = {"slug": slug, "kind": "http", "url": url, "descriptor": TRADING} | more
        answer = self.ask("POST", "", body)
        assert answer.status_code == 201, answer.text
        added: dict[str, Any] = answer.json()
        for tool in added["tools"] if on else ():
            self.say(slug, tool["name"], enabled=True)
        return added

    def get(self, slug: str = "desk") -> dict[str, Any]:
        """A service as it is."""
        answer = self.ask("GET", f"{slug}/")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def tool(self, name: str, slug: str = "desk") -> dict[str, Any]:
        """One of its tools."""
        found: dict[str, Any] = next(each for each in self.get(slug)["tools"] if each["name"] == name)
        return found

    def say(self, slug: str, tool: str, **values: Any) -> dict[str, Any]:
        """Change what the tenant says of a tool."""
        answer = self.ask("PATCH", f"{slug}/tools/{tool}/", values)
        assert answer.status_code == 200, answer.text
        changed: dict[str, Any] = answer.json()
        return changed


def call(stack: Stack, person: "Person", tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A call without a chat, once it is final or waits."""
    url = f"{stack.url}/api/v1/tools/{tool}/calls"
    answer = httpx.post(url, json={"arguments": arguments, **more}, headers=person.headers)
    assert answer.status_code in (200, 202), answer.text
    body: dict[str, Any] = answer.json()
    return body


def approve(stack: Stack, person: "Person", approval_id: str) -> None:
    """Approve a call as it was asked for."""
    answer = httpx.post(f"{stack.url}/api/v1/approvals/{approval_id}/approve/", json={}, headers=person.headers)
    assert answer.status_code == 200, answer.text


def polled(stack: Stack, person: "Person", call_id: str) -> dict[str, Any]:
    """The call as the history shows it, once it is final."""

    def look() -> Any:
        found = stack.get(person, f"/api/v1/tool-calls/{call_id}/").json()
        return found if found["status"] in ("success", "error") else None

    found: dict[str, Any] = until(look)
    return found
