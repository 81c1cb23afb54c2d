"""What every compatible API does alike: keys, errors, retries, clients that go away."""

import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from gateway.models import Agent
from tenants.scope.routing import on_login
from tests.compat.test_ownership import TASKS
from tests.database import rows
from tests.hostile.upstream import Reply, Upstream, completion, failing, streamed
from tests.people import Cast, Person
from tests.waiting import until

Client = Callable[[Person], openai.OpenAI]


def _ask(client: openai.OpenAI, content: str, **more: Any) -> Any:
    return client.chat.completions.create(
        model=more.pop("model", "openai/m"), messages=[{"role": "user", "content": content}], **more
    )


def test_a_wrong_key_raises_the_sdks_own_error(upstream: Upstream) -> None:
    client = openai.OpenAI(api_key="tg_wrong", base_url=f"{upstream.stack.url}/v1", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        _ask(client, "hi")
    with pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_an_unknown_model_or_agent_is_404(client: Client, tenant: Cast) -> None:
    for model in ("nowhere/m", "no-such-agent"):
        with pytest.raises(openai.NotFoundError):
            _ask(client(tenant.alice), "hi", model=model)


def test_models_are_the_configured_ones_and_the_agents(client: Client, tenant: Cast) -> None:
    names = [model.id for model in client(tenant.alice).models.list()]
    assert "offline/demo" in names and "default" in names
    assert {"openai/gpt-4o", "anthropic/claude-sonnet-4-5"} <= set(names)
    for name in ("default", "openai/gpt-4o"):
        assert client(tenant.alice).models.retrieve(name).id == name


def test_an_agent_is_a_model(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I am."))
    with on_login("operator"):
        Agent.objects.create(
            tenant_id=tenant.id, slug="clerk", name="Clerk", model="openai/m", tools=[], instructions="Be brief."
        )
    answer = _ask(client(tenant.alice), script.name, model="clerk")
    assert (answer.choices[0].message.content, answer.model) == ("I am.", "clerk")
    assert script.asked[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert "tools" not in script.asked[0]


# Asked again at once: of a stream whose first event takes longer than five seconds, the failure is in the stream.
BUSY = failing(500, retry_after="0")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([failing(429, retry_after="60")], openai.RateLimitError),
        ([BUSY], openai.InternalServerError),
        ([BUSY, BUSY, Reply([b"<html>"])], openai.InternalServerError),
    ],
)
def test_a_providers_failure_is_the_sdks_own_error(
    upstream: Upstream,
    client: Client,
    tenant: Cast,
    replies: list[Reply],
    error: type[openai.APIStatusError],
    stream: bool,
) -> None:
    script = upstream.script(*replies)
    with pytest.raises(error) as failed:
        list(_ask(client(tenant.alice), script.name, stream=stream))
    assert failed.value.status_code == (429 if error is openai.RateLimitError else 502)
    assert "x-should-retry" not in failed.value.response.headers
    assert "sk-live" not in failed.value.response.text
    assert len(script.asked) == (1 if error is openai.RateLimitError else 3)


def test_what_a_provider_refuses_is_the_clients_mistake_and_not_asked_again(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    error = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
    script = upstream.script(Reply([json.dumps({"error": error}).encode()], 400))
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        _ask(client(tenant.alice), script.name)
    assert len(script.asked) == 1


def test_after_a_managed_call_nobody_is_asked_to_retry(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("", TASKS), failing(500))
    with pytest.raises(openai.InternalServerError) as failed:
        _ask(client(tenant.alice), script.name)
    assert failed.value.response.headers["x-should-retry"] == "false"
    found = rows("SELECT status FROM tool_calls WHERE tenant_id = %(id)s", id=tenant.id)
    assert found == [{"status": "success"}]


def test_a_stream_that_breaks_after_its_text_is_an_error_in_the_stream(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    cut = threading.Event()
    script = upstream.script(streamed({"content": "Half an"}, {"content": ""}, finish=None, cut=True, between=cut))
    said = (chunk.choices[0].delta.content for chunk in _ask(client(tenant.alice), script.name, stream=True))
    assert next(text for text in said if text) == "Half an"
    cut.set()
    with pytest.raises(openai.APIError):
        list(said)
    # What was read cannot be taken back, so the model is not asked again.
    assert len(script.asked) == 1


def test_an_idempotency_key_gets_the_same_run(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Once."))
    answers = [_ask(client(tenant.alice), script.name, extra_headers={"Idempotency-Key": "k-1"}) for _ in range(2)]
    assert answers[0].toolgate["run_id"] == answers[1].toolgate["run_id"]
    assert len(script.asked) == 1
    with pytest.raises(openai.UnprocessableEntityError):
        _ask(client(tenant.alice), "another body", extra_headers={"Idempotency-Key": "k-1"})


def test_several_requests_of_one_conversation_may_run_at_once(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("One."))
    transcript: Any = [{"role": "user", "content": script.name}]
    said = _ask(client(tenant.alice), script.name).choices[0].message.content
    transcript += [{"role": "assistant", "content": said}, {"role": "user", "content": script.name}]

    def ask(_: int) -> Any:
        return client(tenant.alice).chat.completions.create(model="openai/m", messages=transcript)

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, range(4)))
    assert {answer.choices[0].message.content for answer in answers} == {"One."}


@pytest.mark.parametrize(("setting", "status"), [("cancel", "cancelled"), ("continue", "completed")])
def test_a_client_that_hangs_up_ends_the_run_or_not_by_setting(
    upstream: Upstream, tenant: Cast, setting: str, status: str
) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(on_disconnect=setting)
    gate = threading.Event()
    script = upstream.script(completion("Late.", gate=gate))
    body = {"model": "openai/m", "messages": [{"role": "user", "content": script.name}]}
    with socket.create_connection(("127.0.0.1", upstream.stack.port)) as connection:
        request = httpx.Request("POST", "http://test/v1/chat/completions", json=body, headers=tenant.alice.headers)
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        connection.sendall(f"POST {request.url.path} HTTP/1.1\r\n{head}\r\n".encode() + request.content)
        script.wait()
    if setting == "continue":
        gate.set()
    until(lambda: rows("SELECT status FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == [{"status": status}])
    gate.set()


def test_no_address_under_v1_is_a_page(upstream: Upstream, tenant: Cast) -> None:
    for method, path in (("GET", "/v1/chat/completions"), ("POST", "/v1/nothing"), ("DELETE", "/v1/models")):
        answer = httpx.request(method, f"{upstream.stack.url}{path}", headers=tenant.alice.headers)
        assert answer.status_code in (404, 405)
        assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"{}", b"\xff\xfe", b'{"model": "openai/m", "messages": []}']
)
def test_malformed_bodies_are_400(upstream: Upstream, tenant: Cast, body: bytes) -> None:
    url = f"{upstream.stack.url}/v1/chat/completions"
    answer = httpx.post(url, content=body, headers=tenant.alice.headers | {"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
    assert rows("SELECT 1 AS it FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == []
