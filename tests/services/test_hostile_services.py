"""What services, models and owners throw at a call of a service's tool."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.database import rows
from tests.people import Cast
from tests.services.api import OUTSIDE, TOKEN, Api, Asked, Owner, Reply, as_json, call
from tests.stack import Stack

ORDER = "/api/v1/orders/"
CREDENTIAL = {"type": "bearer", "token": TOKEN}


def order(stack: Stack, tenant: Cast, order_id: Any = "1") -> dict[str, Any]:
    """A call of the tool with a path parameter."""
    return call(stack, tenant.alice, "desk.get_order", {"order_id": order_id})


# --- path parameters -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", ["..", ".", "", "../admin", "a/../b", "..\\admin", "/..", "a/..", "./x"])
def test_a_path_parameter_that_climbs_out_of_its_segment_is_refused(
    stack: Stack, tenant: Cast, api: Api, url: str, value: str
) -> None:
    Owner(stack, tenant.olga).add(url)
    refused = order(stack, tenant, value)
    assert (refused["status"], refused["error"]["code"]) == ("error", "validation_error")
    assert refused["error"]["field"] == "order_id"
    # A gate refused it: nobody is asked to approve what cannot run.
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert (row["decision"][-1]["gate"], row["started_at"], api.asked) == ("schema", None, [])


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("a/b", "a%2Fb"), ("a?b=c", "a%3Fb%3Dc"), ("a#b", "a%23b"), ("%2e%2e", "%252e%252e"), ("a b+c", "a%20b%2Bc"),
        ("a;b&c", "a%3Bb%26c"), ("ä", "%C3%A4"), ("{claw_id}", "%7Bclaw_id%7D"), ("@evil.example", "%40evil.example"),
        ("...", "..."), ("v1..2", "v1..2"), ("a\\b", "a%5Cb"), ("a:80", "a%3A80"), (12, "12"),
    ],
)  # fmt: skip
def test_a_path_parameter_is_sent_encoded_and_stays_one_segment(
    stack: Stack, tenant: Cast, api: Api, url: str, value: Any, sent: str
) -> None:
    api.on("/", as_json({"ok": True}))
    Owner(stack, tenant.olga).add(url)
    assert order(stack, tenant, value)["status"] == "success"
    assert [asked.target for asked in api.asked] == [ORDER + sent]


def test_a_line_end_in_an_argument_never_becomes_a_header(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    api.on("/", as_json({"ok": True}))
    Owner(stack, tenant.olga).add(url)
    assert order(stack, tenant, "a\nX-Evil: 1")["status"] == "success"
    [asked] = api.asked
    assert (asked.path, "x-evil" in asked.headers) == (f"{ORDER}a%0AX-Evil%3A%201", False)


# --- where it may lead -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254", "http://10.0.0.1", "http://[::ffff:10.0.0.1]", "http://2130706433", "http://0x7f.1",
        "http://user:pw@example.com", "ftp://example.com", "http://example.com/?a=b", "http://example.com/#x", "", None,
        "http://exa mple.com", "//example.com", "http://127.0.0.1",
    ],
)  # fmt: skip
def test_an_address_that_may_not_be_reached_is_refused_when_it_is_added(
    stack: Stack, tenant: Cast, address: Any
) -> None:
    owner = Owner(stack, tenant.olga)
    body = {"slug": "desk", "kind": "http", "url": address, "descriptor": {"version": 1}}
    answer = owner.ask("POST", "", body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_service", "url")
    assert owner.ask("GET", "").json()["results"] == []


def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_called(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    Owner(stack, tenant.olga).add(url.replace(OUTSIDE, "localhost"))
    refused = order(stack, tenant)
    assert refused["error"]["code"] == "permission_denied"
    assert "may not be reached" in refused["error"]["message"]
    assert api.asked == []


@pytest.mark.parametrize("where", ["http://169.254.169.254/latest/meta-data/", "/elsewhere"])
def test_a_redirect_is_not_followed(stack: Stack, tenant: Cast, api: Api, url: str, where: str) -> None:
    api.on(ORDER, Reply(302, b"", {"Location": where}))
    Owner(stack, tenant.olga).add(url, credential=CREDENTIAL)
    refused = order(stack, tenant)
    assert refused["error"]["message"] == "desk.get_order answered with a redirect (HTTP 302), which is not followed."
    assert len(api.asked) == 1


# --- what comes back -------------------------------------------------------------------------------------------------
def test_an_endless_answer_is_cut_and_kept_to_one_mebibyte(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        while True:
            handler.wfile.write(b"x" * 65536)

    api.on(ORDER, Reply(200, write=endless))
    Owner(stack, tenant.olga).add(url)
    called = order(stack, tenant)
    assert (called["status"], called["output"]["truncated"]) == ("success", True)
    assert len(called["output"]["data"]) <= 1024 * 1024
    answer = stack.chat(tenant.alice, 'call: desk.get_order {"order_id": "1"}').json()
    assert answer["status"] == "completed"


def test_a_bomb_that_is_packed_is_not_unpacked(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    packed = gzip.compress(b"0" * 50_000_000)
    api.on(ORDER, Reply(200, packed, {"Content-Encoding": "gzip", "Content-Type": "application/json"}))
    Owner(stack, tenant.olga).add(url)
    refused = order(stack, tenant)
    assert (refused["error"]["code"], "not unpacked" in refused["error"]["message"]) == ("execution_error", True)
    assert api.asked[0].headers["accept-encoding"] == "identity"


def test_slow_drips_end_with_the_time_limit_of_the_service(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        while not api.released.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    api.on(ORDER, Reply(200, write=drip))
    Owner(stack, tenant.olga).add(url, timeout=3)
    refused = order(stack, tenant)
    assert refused["error"]["code"] == "timeout"
    assert "may or may not have had its effect" in refused["error"]["message"]
    # The limit, and not the server, ended it: it drips until the test is over.
    assert not api.released.is_set()
    assert len(api.asked) == 1


@contextmanager
def echoing(api: Api, status: int) -> Iterator[None]:
    """An API that repeats what it was sent, credential included."""

    def echo(asked: Asked) -> Reply:
        return as_json(
            {"sent": asked.headers, "escaped": "\\u0067hp" + TOKEN[3:], "note": f"bad token {TOKEN}"}, status
        )

    api.on(ORDER, echo)
    yield


@pytest.mark.parametrize("status", [200, 401, 422, 500])
def test_a_credential_that_a_service_repeats_is_kept_out_of_everything(
    stack: Stack, tenant: Cast, api: Api, url: str, status: int
) -> None:
    owner = Owner(stack, tenant.olga)
    owner.add(url, credential=CREDENTIAL)
    with echoing(api, status):
        answer = stack.chat(tenant.alice, 'call: desk.get_order {"order_id": "1"}')
    assert api.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert "[credential]" in answer.text
    record = rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(record) == 1
    for text in (answer.text, str(record), json.dumps(owner.get()), stack.log("worker"), stack.log("web")):
        assert TOKEN not in text


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (b"plain words", "plain words"),
        (b"", {"status": 200}),
        (b'{"id": 12345678901234567890}', {"id": "12345678901234567890"}),
        (b'{"a": 1e999}', {"a": "1e999"}),
        (b'{"a": NaN}', '{"a": NaN}'),
        (b'{"a": "\\u0000\\ud800"}', {"a": "\ufffd\ufffd"}),
        (b"\xff\x00", "\ufffd\ufffd"),
        (b"[" * 100 + b"]" * 100, "[" * 100 + "]" * 100),
        (b"[" * 100_000, "[" * 100_000),
        (b"null", None),
        (b"[1, 2]", [1, 2]),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)  # fmt: skip
def test_whatever_a_service_answers_is_recorded(
    stack: Stack, tenant: Cast, api: Api, url: str, body: bytes, output: Any
) -> None:
    api.on(ORDER, Reply(200, body))
    Owner(stack, tenant.olga).add(url)
    called = order(stack, tenant)
    assert (called["status"], called["output"]) == ("success", output)


def test_a_service_that_acts_and_hangs_up_is_not_called_again(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.connection.close()

    api.on("/api/v1/trades", Reply(200, headers={"Content-Length": "100"}, write=hang_up))
    Owner(stack, tenant.olga).add(url)
    trade = {"symbol": "ACME", "side": "buy", "quantity": 1}
    refused = call(stack, tenant.alice, "desk.execute_trade", trade)
    assert refused["error"]["code"] == "execution_error"
    assert "may or may not have had its effect" in refused["error"]["message"]
    assert len(api.asked) == 1
