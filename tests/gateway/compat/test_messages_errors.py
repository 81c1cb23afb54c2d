"""What is not a messages request is refused in Anthropic's words, and nothing else ever comes of it."""

from contextlib import suppress
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.compat.messages.api import API
from gateway.runs.prompting.client_request import BadRequest
from tests.gateway.compat.test_messages import THINKING, ask, assistant, parsed, result, use, user

LOOKED = (user("weather?"), assistant(use("toolu_1")))


def without(name: str) -> dict[str, Any]:
    return {field: value for field, value in ask().items() if field != name}


def image(**source: Any) -> dict[str, Any]:
    return ask(user([{"type": "image", "source": source}]))


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "model: Field required"),
        (without("model"), "model: Field required"),
        (ask(model=7), "model: Input should be a valid string"),
        (ask(model=""), "model: String should have at least 1 character"),
        (without("max_tokens"), "max_tokens: Field required"),
        (ask(max_tokens=-1), "max_tokens: Input should be greater than or equal to 0"),
        (ask(max_tokens=1.5), "max_tokens: Input should be a valid integer"),
        (ask(max_tokens=True), "max_tokens: Input should be a valid number"),
        (without("messages"), "messages: Field required"),
        (ask() | {"messages": []}, "messages: at least one message is required"),
        (ask() | {"messages": {"role": "user"}}, "messages: Input should be a valid list"),
        (ask() | {"messages": ["hi"]}, "messages.0: Input should be a valid dictionary"),
        (ask({"content": "hi"}), "messages.0.role: Field required"),
        (ask({"role": "user"}), "messages.0.content: Field required"),
        (
            ask({"role": "tool", "content": "hi"}),
            'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".',
        ),
        (
            ask({"role": "system", "content": "Be kind."}),
            "messages.0: use the top-level 'system' parameter for the initial system prompt",
        ),
        (ask({"role": "user", "content": "hi", "name": "ada"}), "messages.0.name: Extra inputs are not permitted"),
        (ask(user(7)), "messages.0.content: Input should be a valid string or a valid list"),
        (ask(user("")), "messages.0: user messages must have non-empty content"),
        (ask(user([])), "messages.0: user messages must have non-empty content"),
        (ask(user(["hi"])), "messages.0.content.0: Input should be a valid dictionary"),
        (ask(user([{"text": "hi"}])), "messages.0.content.0.type: Field required"),
        (ask(user([{"type": 7}])), "messages.0.content.0.type: Input should be a valid string"),
        (ask(user([{"type": "text"}])), "messages.0.content.0.text: Field required"),
        (ask(user([{"type": "text", "text": 7}])), "messages.0.content.0.text: Input should be a valid string"),
        (ask(user([{"type": "text", "text": ""}])), "messages.0.content.0: text content blocks must be non-empty"),
        (ask(user([{"type": "image"}])), "messages.0.content.0.source: Field required"),
        (image(type="base64", data="eA=="), "messages.0.content.0.source.media_type: Field required"),
        (
            image(type="base64", media_type="image/tiff", data="eA=="),
            "messages.0.content.0.source.media_type: "
            "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        ),
        (image(type="url"), "messages.0.content.0.source.url: Field required"),
        (ask(user([use("toolu_1")])), "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages"),
        (ask(user([THINKING])), "messages.0.content.0: `thinking` blocks can only be in `assistant` messages"),
        (
            ask(*LOOKED, assistant(result("toolu_1"))),
            "messages.2.content.0: `tool_result` blocks can only be in `user` messages",
        ),
        (
            ask(user("hi"), assistant({"type": "tool_use", "id": "toolu_1", "input": {}})),
            "messages.1.content.0.name: Field required",
        ),
        (
            ask(user("hi"), assistant(use("toolu_1") | {"input": "{}"})),
            "messages.1.content.0.input: Input should be a valid dictionary",
        ),
        (
            ask(user("hi"), assistant(use("toolu_1"), use("toolu_1"))),
            "messages.1.content.1: `tool_use` ids must be unique",
        ),
        (
            ask(*LOOKED, user([result("toolu_1")]), assistant(use("toolu_1"))),
            "messages.3.content.0: `tool_use` ids must be unique",
        ),
        (
            ask(user([result("toolu_9")])),
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
        (
            ask(*LOOKED, user([result("toolu_1")]), assistant(), user([result("toolu_1")])),
            "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
        (
            ask(*LOOKED, user([result("toolu_1"), result("toolu_1")])),
            "messages.2.content.1: each tool_use must have a single result. "
            "Found multiple `tool_result` blocks with id: toolu_1",
        ),
        (
            ask(*LOOKED, user("never mind")),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            ask(*LOOKED),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            ask(*LOOKED, user([result("toolu_1", is_error="no")])),
            "messages.2.content.0.is_error: Input should be a valid boolean",
        ),
        (ask(system=7), "system: Input should be a valid string or a valid list"),
        (ask(system=[{"type": "image"}]), "system.0.type: Input should be 'text'"),
        (ask(stream="yes"), "stream: Input should be a valid boolean"),
        (ask(temperature=1.1), "temperature: Input should be less than or equal to 1"),
        (ask(top_p="1"), "top_p: Input should be a valid number"),
        (ask(stop_sequences="END"), "stop_sequences: Input should be a valid list"),
        (ask(stop_sequences=["END", 1]), "stop_sequences.1: Input should be a valid string"),
        (ask(tools={}), "tools: Input should be a valid list"),
        (ask(tools=["f"]), "tools.0: Input should be a valid dictionary"),
        (ask(tools=[{"input_schema": {"type": "object"}}]), "tools.0.custom.name: Field required"),
        (ask(tools=[{"name": "f"}]), "tools.0.custom.input_schema: Field required"),
        (ask(tools=[{"name": "f", "input_schema": {}}]), "tools.0.custom.input_schema.type: Field required"),
        (
            ask(tools=[{"name": "f", "input_schema": {"type": "string"}}]),
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (ask(tools=[{"name": "f", "input_schema": {"type": "object"}}] * 2), "tools: Tool names must be unique."),
        (
            ask(tools=[{"type": "computer_toolset_20260801"}]),
            "tools.0.type: Toolsets such as computer_toolset_20260801 are not supported",
        ),
        (ask(tool_choice="auto"), "tool_choice: Input should be a valid dictionary"),
        (
            ask(tool_choice={"type": "required"}),
            "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: "
            "'auto', 'any', 'none', 'tool'",
        ),
        (ask(tool_choice={"type": "tool"}), "tool_choice.tool.name: Field required"),
        (ask(tool_choice={"type": "auto", "name": "f"}), "tool_choice.auto.name: Extra inputs are not permitted"),
        (ask(output_config={"format": {"type": "text"}}), "output_config.format.type: Input should be 'json_schema'"),
        (ask(output_format={"type": "json_schema"}), "output_format.schema: Field required"),
        (ask(metadata=deep(250)), "The request body is nested too deeply."),
    ],
)
def test_a_bad_request_is_refused_where_it_is_wrong(body: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        API.parse(body)
    assert refused.value.detail == message
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")
    if refused.value.field is not None:
        assert message.startswith(f"{refused.value.field}: ")


def test_a_prompt_of_which_tokens_are_counted_is_checked_alike() -> None:
    with pytest.raises(BadRequest, match="at least one message is required"):
        API.parse_count({"model": "claude", "messages": []})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**63) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
KINDS = ("text", "image", "tool_use", "tool_result", "thinking", "document", "server_tool_use", "?")
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | JSON},
    optional={
        "text": st.text(max_size=5) | JSON,
        "id": st.sampled_from(["a", "b"]) | JSON,
        "tool_use_id": st.sampled_from(["a", "b"]) | JSON,
        "name": st.just("f") | JSON,
        "input": st.just({}) | JSON,
        "content": st.text(max_size=5) | JSON,
        "source": st.just({"type": "url", "url": "u"}) | JSON,
        "is_error": st.booleans() | JSON,
        "cache_control": JSON,
    },
)
BODIES = st.fixed_dictionaries(
    {
        "model": st.just("m") | JSON,
        "max_tokens": st.just(5) | JSON,
        "messages": st.lists(
            st.fixed_dictionaries(
                {
                    "role": st.sampled_from(["user", "assistant", "system"]) | JSON,
                    "content": st.text(max_size=5) | st.lists(BLOCKS | JSON, max_size=4) | JSON,
                }
            ),
            max_size=5,
        )
        | JSON,
    },
    optional=dict.fromkeys(("system", "tools", "tool_choice", "stop_sequences", "temperature", "output_config"), JSON),
)


@given(BODIES)
@settings(max_examples=500, deadline=None)
def test_whatever_is_sent_is_understood_or_refused(body: dict[str, Any]) -> None:
    with suppress(BadRequest):
        assert API.parse(body).messages


@pytest.mark.parametrize(
    ("status", "kind", "raised"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (403, "permission_error", anthropic.PermissionDeniedError),
        (404, "not_found_error", anthropic.NotFoundError),
        (413, "request_too_large", anthropic.APIStatusError),
        (422, "invalid_request_error", anthropic.UnprocessableEntityError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (502, "api_error", anthropic.InternalServerError),
        (503, "overloaded_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.InternalServerError),
    ],
)
def test_an_error_has_anthropics_shape_and_the_sdk_raises_its_own_class(
    status: int, kind: str, raised: type[Exception]
) -> None:
    body = API.error(status, "code", "It went wrong.")
    assert body == {"type": "error", "error": {"type": kind, "message": "It went wrong."}}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, json=body))
    client = anthropic.Anthropic(
        api_key="tg_1", base_url="http://toolgate", max_retries=0, http_client=httpx2.Client(transport=transport)
    )
    with pytest.raises(raised, match="It went wrong"):
        client.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": "hi"}])


def test_an_error_names_the_field_that_its_message_does_not() -> None:
    said = API.error(400, "invalid_request", "Not here.", "thinking")["error"]["message"]
    assert said == "thinking: Not here."
    said = API.error(400, "invalid_request", "thinking is not here.", "thinking")["error"]["message"]
    assert said == "thinking is not here."


def test_a_valid_request_is_not_refused() -> None:
    assert parsed(*LOOKED, user([result("toolu_1")])).model == "anthropic/claude"
