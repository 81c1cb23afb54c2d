"""The compatible APIs do what the OpenAPI document says of them: its fields are those that they read and answer."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gateway.compat.chat_completions import api
from gateway.compat.messages import request
from gateway.compat.responses import api as responses
from tests.people import Cast, Person
from tests.rest.documents import assert_documented, document, named, problems_of
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
MODEL = "offline/demo"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = 'call: get_weather {"city": "Oslo"}'


def post(stack: Stack, person: Person, path: str, body: dict[str, Any]) -> httpx.Response:
    """A POST as a person."""
    return httpx.post(f"{stack.url}{path}", json=body, headers=person.headers)


def asked(path: str, text: str, **more: Any) -> dict[str, Any]:
    """A question in the shape of an address."""
    said = {"input": text} if path == "/v1/responses" else {"messages": [{"role": "user", "content": text}]}
    return {"model": MODEL, **said, **({"max_tokens": 100} if path == "/v1/messages" else {}), **more}


def data_of(stream: str) -> Iterator[Any]:
    """The data of a stream's events."""
    for line in stream.splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


def properties(component: str) -> set[str]:
    """The fields that a component has."""
    return set(document()["components"]["schemas"][component]["properties"])


def test_the_request_fields_are_those_that_are_read() -> None:
    chat = api
    checked = (*chat._OURS, *chat._TEXTS, *chat._OBJECTS, *chat._BOOLEANS, *chat._NUMBERS)
    assert properties("ChatCompletionRequest") == set(checked)
    assert properties("ResponseRequest") == {*responses._OURS, *responses._TEXTS}
    assert properties("MessageRequest") == set(request._OURS)
    assert properties("MessageCountRequest") == set(request._OURS) - {"max_tokens"}


def test_every_address_under_v1_is_documented_and_answers(stack: Stack, tenant: Cast) -> None:
    addresses = {
        (method.upper(), path)
        for path, item in document()["paths"].items()
        if path.startswith("/v1/")
        for method in item
    }
    assert addresses == {
        ("POST", "/v1/chat/completions"), ("POST", "/v1/responses"), ("GET", "/v1/responses/{response_id}"),
        ("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models"),
        ("GET", "/v1/models/{model}"),
    }  # fmt: skip
    for method, path in addresses:
        answer = httpx.request(method, stack.url + path.format(response_id="resp_none", model="none"), json={})
        assert answer.status_code == 401
        assert_documented(method, path, answer)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_answers_are_as_documented(stack: Stack, tenant: Cast, path: str) -> None:
    operation = document()["paths"][path]["post"]
    for text in (NOTE, MAIL, f"{NOTE}\nthen:\nno_such_call"):
        body = asked(path, text)
        assert problems_of(operation["requestBody"]["content"]["application/json"]["schema"], body) == []
        answer = assert_documented("POST", path, post(stack, tenant.alice, path, body))
        assert answer["toolgate"]["tool_calls"]
    wrong = post(stack, tenant.alice, path, {"model": 5})
    assert wrong.status_code == 400
    assert_documented("POST", path, wrong)
    unknown = post(stack, tenant.alice, path, asked(path, "hi") | {"model": "nowhere/m"})
    assert unknown.status_code == 404
    assert_documented("POST", path, unknown)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_streams_are_as_documented(stack: Stack, tenant: Cast, path: str) -> None:
    content = document()["paths"][path]["post"]["responses"]["200"]["content"]["text/event-stream"]
    assert content["schema"] == named("EventStream")
    for text in (NOTE, MAIL):
        answer = post(stack, tenant.alice, path, asked(path, text, stream=True))
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        events = list(data_of(answer.text))
        assert len(events) > 2
        for event in events:
            assert problems_of(content["x-event-schema"], event) == []


def test_calls_of_the_clients_own_tools_are_as_documented(stack: Stack, tenant: Cast) -> None:
    function = {"name": "get_weather", "parameters": SCHEMA}
    tools = {
        "/v1/chat/completions": [{"type": "function", "function": function}],
        "/v1/responses": [{"type": "function", **function}],
        "/v1/messages": [{"name": "get_weather", "input_schema": SCHEMA}],
    }
    for path, given in tools.items():
        answer = assert_documented("POST", path, post(stack, tenant.alice, path, asked(path, WEATHER, tools=given)))
        assert "get_weather" in json.dumps({name: value for name, value in answer.items() if name != "tools"})


def test_a_stored_response_counts_and_models_are_as_documented(stack: Stack, tenant: Cast) -> None:
    made = post(stack, tenant.alice, "/v1/responses", asked("/v1/responses", NOTE)).json()
    stored = stack.get(tenant.alice, f"/v1/responses/{made['id']}")
    assert assert_documented("GET", "/v1/responses/{response_id}", stored)["id"] == made["id"]
    missing = stack.get(tenant.alice, "/v1/responses/resp_none")
    assert missing.status_code == 404
    assert_documented("GET", "/v1/responses/{response_id}", missing)
    path = "/v1/messages/count_tokens"
    counted = post(stack, tenant.alice, path, {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]})
    assert assert_documented("POST", path, counted)["input_tokens"] > 0
    listed = assert_documented("GET", "/v1/models", stack.get(tenant.alice, "/v1/models"))
    for model in listed["data"]:
        one = stack.get(tenant.alice, f"/v1/models/{model['id']}")
        assert assert_documented("GET", "/v1/models/{model}", one) == model
    unknown = stack.get(tenant.alice, "/v1/models/nowhere%2Fm")
    assert unknown.status_code == 404
    assert_documented("GET", "/v1/models/{model}", unknown)
