"""Requests that no honest client sends: a clear 4xx, never a 500, and no run."""

import http.client
import json
import uuid
from typing import Any

import httpx
import pytest

from tests.database import rows
from tests.hostile.upstream import ORIGIN
from tests.people import Cast
from tests.stack import Stack

# The callable in front of Django, and Django's own path, which an Origin header chooses.
PATHS: dict[str, dict[str, str]] = {"fast": {}, "django": {"Origin": ORIGIN}}
BODIES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, "invalid_request"),
    "not JSON": (b"hello", 400, "invalid_request"),
    "truncated": (b'{"content": "hel', 400, "invalid_request"),
    "not UTF-8": (b'{"content": "\xff\xfe"}', 400, "invalid_request"),
    "UTF-16": ('{"content": "hello"}'.encode("utf-16"), 400, "invalid_request"),
    "a lone surrogate": (b'{"content": "\\ud800"}', 400, "invalid_request"),
    "NaN": (b'{"content": "a", "wait": NaN}', 400, "invalid_request"),
    "an array": (b'["hello"]', 400, "invalid_request"),
    "a string": (b'"hello"', 400, "invalid_request"),
    "null": (b"null", 400, "invalid_request"),
    "a number": (b"1", 400, "invalid_request"),
    "no content": (b"{}", 400, "invalid_request"),
    "null content": (b'{"content": null}', 400, "invalid_request"),
    "a number for content": (b'{"content": 1}', 400, "invalid_request"),
    "a list for content": (b'{"content": [{"type": "text", "text": "x"}]}', 400, "invalid_request"),
    "empty content": (b'{"content": ""}', 400, "invalid_request"),
    "blank content": (b'{"content": " \\n\\t"}', 400, "invalid_request"),
    "NUL in content": (b'{"content": "a\\u0000b"}', 400, "invalid_request"),
    "one byte too much": (b'{"content": "' + b"x" * (1024 * 1024 + 1) + b'"}', 413, "content_too_large"),
    "one multibyte character too much": (
        b'{"content": "' + "é".encode() * (512 * 1024 + 1) + b'"}', 413, "content_too_large"
    ),
    "a body of 5 MiB": (b'{"content": "x", "model": "' + b"x" * (5 * 1024 * 1024) + b'"}', 413, "content_too_large"),
    "100,000 levels of arrays": (b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "invalid_request"),
    "100,000 levels of objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "invalid_request"),
    "an integer of 5,000 digits": (b'{"content": "a", "wait": ' + b"9" * 5000 + b"}", 400, "invalid_request"),
    "a string for stream": (b'{"content": "a", "stream": "yes"}', 400, "invalid_request"),
    "a negative wait": (b'{"content": "a", "wait": -1}', 400, "invalid_request"),
    "a string for wait": (b'{"content": "a", "wait": "1"}', 400, "invalid_request"),
    "true for wait": (b'{"content": "a", "wait": true}', 400, "invalid_request"),
    "an endless wait": (b'{"content": "a", "wait": 1e300}', 400, "invalid_request"),
    "a conversation that is no UUID": (b'{"content": "a", "conversation_id": "1"}', 400, "invalid_request"),
    "a conversation that is a number": (b'{"content": "a", "conversation_id": 1}', 400, "invalid_request"),
    "SQL for a conversation": (b'{"content": "a", "conversation_id": "\' OR 1=1 --"}', 400, "invalid_request"),
    "an unknown conversation": (
        b'{"content": "a", "conversation_id": "%b"}' % str(uuid.uuid4()).encode(), 404, "not_found"
    ),
    "the zero conversation": (b'{"content": "a", "conversation_id": "%b"}' % str(uuid.UUID(int=0)).encode(), 404,
                              "not_found"),
    "an unknown agent": (b'{"content": "a", "agent": "nobody"}', 404, "unknown_agent"),
    "an agent with a NUL": (b'{"content": "a", "agent": "a\\u0000"}', 400, "invalid_request"),
    "a list for an agent": (b'{"content": "a", "agent": ["a"]}', 400, "invalid_request"),
    "an unknown provider": (b'{"content": "a", "model": "nobody/m"}', 404, "unknown_model"),
    "a provider without a model": (b'{"content": "a", "model": "openai/"}', 404, "unknown_model"),
    "a model without a provider": (b'{"content": "a", "model": "gpt"}', 404, "unknown_model"),
    "a model with a newline": (b'{"content": "a", "model": "openai/a\\nb"}', 400, "invalid_request"),
    "a model that is too long": (b'{"content": "a", "model": "openai/%b"}' % (b"x" * 300), 400, "invalid_request"),
}  # fmt: skip


def _no_run(tenant: Cast) -> None:
    assert rows("SELECT id FROM runs WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []
    assert rows("SELECT id FROM messages WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


def _is_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, "about:blank")
    assert body["title"]
    assert body["detail"]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(("body", "status", "code"), BODIES.values(), ids=BODIES)
def test_a_body_that_makes_no_sense_is_refused(
    stack: Stack, tenant: Cast, path: dict[str, str], body: bytes, status: int, code: str
) -> None:
    headers = tenant.alice.headers | path | {"Content-Type": "application/json"}
    answer = httpx.post(f"{stack.url}/api/v1/chat", content=body, headers=headers)
    _is_problem(answer, status, code)
    _no_run(tenant)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_content_of_exactly_one_mebibyte_is_taken(stack: Stack, tenant: Cast, path: dict[str, str]) -> None:
    content = "é" * (512 * 1024)
    answer = stack.chat(tenant.alice, content, headers=path)
    assert answer.status_code == 200, answer.text
    [said] = rows("SELECT content FROM messages WHERE tenant_id = %(t)s AND role = 'user'", t=tenant.id)
    assert said["content"] == content


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml", ";;"])
def test_the_content_type_decides_nothing_that_the_body_does_not(
    stack: Stack, tenant: Cast, path: dict[str, str], kind: str | None
) -> None:
    headers = tenant.alice.headers | path | ({"Content-Type": kind} if kind else {})
    answer = httpx.post(f"{stack.url}/api/v1/chat", content=b'{"content": "hello"}', headers=headers)
    assert answer.status_code in (200, 415), answer.text


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("key", ["", "x" * 256, "caf\u00e9", "tab\there"])
def test_an_idempotency_key_that_is_no_plain_text_is_refused(
    stack: Stack, tenant: Cast, path: dict[str, str], key: str
) -> None:
    headers = tenant.alice.headers | path | {"Idempotency-Key": key.encode()}
    answer = httpx.post(
        f"{stack.url}/api/v1/chat",
        json={"content": "hello"},
        headers=headers,  # type: ignore[arg-type]
    )
    _is_problem(answer, 400, "invalid_request")
    _no_run(tenant)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer tg_", "Bearer tg_wrong", "Basic YTpi", "tg_x", "Bearer " + "x" * 5000,
     "Bearer tg_\u00e9", "Bearer tg_x tg_y", "bearer\ttg_x", "Bearer tg_' OR 1=1"],
)  # fmt: skip
def test_a_wrong_key_is_401_and_says_how_to_do_better(
    stack: Stack, tenant: Cast, path: dict[str, str], authorization: str
) -> None:
    headers = path | {"Authorization": authorization.encode("latin-1")}
    answer = httpx.post(f"{stack.url}/api/v1/chat", json={"content": "x"}, headers=headers)  # type: ignore[arg-type]
    _is_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="toolgate"'


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("given", ["a b", "x" * 65, "<script>", "a\u00e9"])
def test_a_request_id_that_is_not_plain_is_replaced(
    stack: Stack, tenant: Cast, path: dict[str, str], given: str
) -> None:
    headers = tenant.alice.headers | path | {"X-Request-Id": given.encode("latin-1")}
    answer = httpx.post(f"{stack.url}/api/v1/chat", json={"content": "x"}, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert answer.headers["x-request-id"].isalnum()
    assert answer.headers["x-request-id"] != given


def test_headers_of_any_size_break_nothing(stack: Stack, tenant: Cast) -> None:
    try:
        answer = httpx.get(f"{stack.url}/healthz", headers={"X-Padding": "x" * 300_000})
        assert answer.status_code < 500
    except httpx.HTTPError:
        pass  # Hung up on, which is as good.
    assert httpx.get(f"{stack.url}/healthz").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/api/v1/runs/%00", "/api/v1/tools/%00/access", "/api/v1/tools/%ff%fe/access", "/api/v1/tools/..%2f..%2f/access",
     "/api/v1/tool-calls/?q=%00", "/api/v1/tool-calls/?user=%00", "/api/v1/tool-calls/?tool=%00",
     "/api/v1/tool-calls/?status=%00", "/api/v1/tool-calls/?since=%00",
     "/api/v1/tool-calls/?since=9999-12-31T23:59:59Z",
     "/api/v1/tool-calls/?since=0001-01-01T00:00:00Z", "/api/v1/tool-calls/?since=0001-01-01T00:00:00%2B14:00",
     "/api/v1/tool-calls/?until=9999-12-31T23:59:59-14:00", "/api/v1/tool-calls/?run=1",
     "/api/v1/tool-calls/?until=2026-01-01T00:00:00%2B18:30", "/api/v1/tool-calls/?since=2026-01-01T00:00:00-23:59",
     "/api/v1/tool-calls/?cursor=%00", "/api/v1/tool-calls/?cursor=cD0lMDA%3D", "/api/v1/tool-calls/?cursor=!!!",
     "/api/v1/tool-calls/?cursor=cD1hYmM%3D", "/api/v1/tool-calls/?limit=-1", "/api/v1/tool-calls/?limit=99999999999",
     "/api/v1/conversations/?cursor=cD1hYmM%3D", "/api/v1/conversations/?limit=abc",
     "/api/v1/tools/?agent=%00", "/api/v1/tools/?agent=" + "x" * 5000, "/api/v1/tools/?style=%00",
     "/api/v1/tools/?style=nonsense", "/api/v1/tool-calls/?q=" + "%25" * 2000],
)  # fmt: skip
def test_odd_addresses_are_answered_with_a_problem_or_an_empty_list(stack: Stack, tenant: Cast, path: str) -> None:
    answer = stack.get(tenant.alice, path)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("last", ["", "x", "END", "1.2.3", "99999999.1.1.1", "0.0.0.", "1.100.999999999.4444",
                                  "1.100.0.9", "-1.0.0.", "1.100.0." + "4" * 5000])  # fmt: skip
def test_a_last_event_id_of_nobodys_is_answered_with_a_stream(stack: Stack, tenant: Cast, last: str) -> None:
    run = stack.chat(tenant.alice, 'call: save_note {"title": "a", "content": "b"}').json()
    answer = stack.get(tenant.alice, f"/api/v1/runs/{run['run_id']}/events", headers={"Last-Event-ID": last})
    assert answer.status_code == 200
    final = answer.text.strip().splitlines()[-1]
    assert json.loads(final[6:]) == run


def test_a_request_cut_off_in_its_body_leaves_nothing(stack: Stack, tenant: Cast) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.port)
    connection.putrequest("POST", "/api/v1/chat")
    for name, value in (tenant.alice.headers | {"Content-Length": "1000"}).items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(b'{"content": "hel')
    connection.close()
    assert stack.chat(tenant.alice, "hello").status_code == 200
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(tenant)s", tenant=tenant.id)) == 1


def test_a_body_sent_in_chunks_is_taken_and_bounded(stack: Stack, tenant: Cast) -> None:
    def chunks(size: int) -> Any:
        yield b'{"content": "'
        for _ in range(size):
            yield b"x" * 1024
        yield b'"}'

    url = f"{stack.url}/api/v1/chat"
    small = httpx.post(url, content=chunks(1), headers=tenant.alice.headers)
    assert small.status_code in (200, 415), small.text
    large = httpx.post(url, content=chunks(5 * 1024), headers=tenant.alice.headers)
    _is_problem(large, 413, "content_too_large")
