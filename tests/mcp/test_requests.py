"""What reaches `/mcp` and is no message of somebody who may send it: each is a clear error, and nothing is recorded."""

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tenants.models import Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.database import rows
from tests.mcp.raw import MODERN, OLD, Mcp, answer
from tests.people import Cast

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

CALL = {"name": "list_tasks", "arguments": {}}


def _recorded(tenant: Cast) -> int:
    return len(rows("SELECT id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id))


def _error(response: httpx.Response) -> tuple[int, int, str]:
    """Status, JSON-RPC code and our own code."""
    error = response.json()["error"]
    data = error.get("data")
    return response.status_code, error["code"], data.get("code", "") if isinstance(data, dict) else ""


def _sent(served: "Stack", tenant: Cast, content: bytes, **headers: str) -> httpx.Response:
    own = Mcp(served.url, tenant.alice).headers | {"Content-Type": "application/json"}
    return httpx.post(f"{served.url}/mcp", content=content, headers=own | headers)


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer tg_wrong", "Basic YWxpY2U6cHc="])
def test_without_a_valid_key_nothing_is_answered_but_where_one_comes_from(
    served: "Stack", tenant: Cast, given: str
) -> None:
    response = Mcp(served.url, tenant.alice).post("tools/list", Authorization=given)
    assert _error(response) == (401, -32600, "unauthenticated")
    challenge = response.headers["www-authenticate"]
    assert challenge.startswith('Bearer realm="toolgate", resource_metadata="')
    described = httpx.get(f"{served.url}/.well-known/oauth-protected-resource/mcp").json()
    assert challenge.endswith(f'{described["resource"].removesuffix("/mcp")}/.well-known/oauth-protected-resource/mcp"')
    assert described["scopes_supported"] == ["chat", "tools:read"]
    assert described["authorization_servers"] == [described["resource"].removesuffix("/mcp")]


def test_a_key_reaches_as_far_as_its_scopes(served: "Stack", tenant: Cast) -> None:
    with on_login("operator"):
        member = Membership.objects.get(user_id=tenant.alice.principal.user_id)
        _, key = keys.create(membership=member, scopes=["tools:read"])
    narrow = {"Authorization": f"Bearer {key}"}
    alice = Mcp(served.url, tenant.alice)
    assert alice.post("tools/list", **narrow).status_code == 200
    response = alice.post("tools/call", CALL, **narrow)
    assert _error(response) == (403, -32600, "forbidden")
    assert 'error="insufficient_scope", scope="chat"' in response.headers["www-authenticate"]
    assert _recorded(tenant) == 0


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Host": "evil.example"}, 421, "wrong_host"),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 421, "wrong_host"),
        ({"Origin": "https://evil.example"}, 403, "wrong_origin"),
        ({"Origin": "null"}, 403, "wrong_origin"),
    ],
)
def test_a_page_of_elsewhere_gets_nothing(
    served: "Stack", tenant: Cast, headers: dict[str, str], status: int, code: str
) -> None:
    assert _error(Mcp(served.url, tenant.alice).post("tools/call", CALL, **headers)) == (status, -32600, code)
    assert _recorded(tenant) == 0


def test_a_page_of_toolgate_itself_may_ask(served: "Stack", tenant: Cast) -> None:
    assert Mcp(served.url, tenant.alice).post("tools/list", Origin=served.url).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_posts_are_answered(served: "Stack", tenant: Cast, method: str) -> None:
    response = httpx.request(method, f"{served.url}/mcp", headers=Mcp(served.url, tenant.alice, OLD).headers)
    assert _error(response) == (405, -32600, "method_not_allowed")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("content", "number", "code"),
    [
        (b"", -32700, "parse_error"),
        (b"{", -32700, "parse_error"),
        (b"\xff\xfe", -32700, "parse_error"),
        (b'{"a": NaN}', -32700, "parse_error"),
        (b'{"jsonrpc": "2.0", "jsonrpc": "2.0", "id": 1, "method": "ping"}', -32700, "parse_error"),
        (b'{"a":' * 100_000, -32700, "parse_error"),
        (b"[" * 100_000, -32700, "parse_error"),
        (b'{"id": ' + b"9" * 5_000 + b"}", -32700, "parse_error"),
        (b"null", -32600, "invalid_request"),
        (b"[]", -32600, "invalid_request"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, "invalid_request"),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, "invalid_request"),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, "invalid_request"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, "invalid_request"),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', -32600, "invalid_request"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}', -32600, "invalid_request"),
    ],
)
def test_what_is_no_single_message_is_refused(
    served: "Stack", tenant: Cast, content: bytes, number: int, code: str
) -> None:
    for revision in (MODERN, OLD):
        response = _sent(served, tenant, content, **{"MCP-Protocol-Version": revision})
        assert _error(response) == (400, number, code)
        assert response.headers["x-request-id"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_four_mebibytes_is_too_large(served: "Stack", tenant: Cast, chunked: bool) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 4 * 1024 * 1024}}).encode()
    headers = Mcp(served.url, tenant.alice).headers | {"Content-Type": "application/json"}
    pieces: Any = (body[at : at + 65_536] for at in range(0, len(body), 65_536)) if chunked else body
    try:
        response = httpx.post(f"{served.url}/mcp", content=pieces, headers=headers)
    except (httpx.WriteError, httpx.ReadError):
        # The connection is closed after the answer, which the client was still too busy writing to read.
        return
    assert _error(response) == (413, -32600, "content_too_large")


def test_headers_must_say_what_the_body_says(served: "Stack", tenant: Cast) -> None:
    alice = Mcp(served.url, tenant.alice)
    for headers in ({"Mcp-Method": "tools/list"}, {"Mcp-Name": "save_note"}, {"Mcp-Name": ""}):
        response = alice.post("tools/call", CALL, **headers)
        assert _error(response)[:2] == (400, -32020)
    assert _recorded(tenant) == 0


def test_an_unknown_revision_is_told_which_are_known(served: "Stack", tenant: Cast) -> None:
    key = "io.modelcontextprotocol/protocolVersion"
    response = Mcp(served.url, tenant.alice).post(
        "tools/list", {"_meta": {key: "2099-01-01"}}, **{"MCP-Protocol-Version": "2099-01-01"}
    )
    assert _error(response)[:2] == (400, -32022)
    assert response.json()["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


def test_an_unknown_method_is_not_found(served: "Stack", tenant: Cast) -> None:
    for method in ("tools/erase", "logging/setLevel", "tasks/list", "tasks/result"):
        params = {"taskId": "x", "notifications": {}, "level": "info"}
        response = Mcp(served.url, tenant.alice).post(method, params)
        assert _error(response)[:2] == (404, -32601), method
    old = Mcp(served.url, tenant.alice, OLD)
    for method in ("tools/erase", "tasks/update", "server/discover", "subscriptions/listen"):
        assert answer(old.post(method, {"taskId": "x"}))["error"]["code"] == -32601, method


def test_params_of_the_wrong_form_are_an_error_and_no_call(served: "Stack", tenant: Cast) -> None:
    for params in ({}, {"name": "list_tasks", "arguments": []}, {"name": "list_tasks", "arguments": "{}"}):
        for revision in (MODERN, OLD):
            answered = answer(Mcp(served.url, tenant.alice, revision).post("tools/call", params))
            assert answered["error"]["code"] == -32602, (revision, params)
    assert _recorded(tenant) == 0


def test_every_answer_says_its_id_and_that_nobody_may_store_it(served: "Stack", tenant: Cast) -> None:
    response = Mcp(served.url, tenant.alice).post("tools/list", **{"X-Request-Id": "mine"})
    assert response.headers["x-request-id"] == "mine"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
