from typing import Any

from gateway.compat.messages.api import API
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Document,
    Image,
    Opaque,
    Options,
    ResponseFormat,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolChoice,
    ToolMessage,
    UserMessage,
)
from gateway.runs.prompting.client_request import ClientRequest

CACHE: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
THINKING = {"type": "thinking", "thinking": "Paris is meant.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Paris"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
DOCUMENT = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}


def ask(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = list(messages) or [{"role": "user", "content": "hi"}]
    return {"model": "anthropic/claude", "max_tokens": 100, "messages": given, **more}


def parsed(*messages: dict[str, Any], **more: Any) -> ClientRequest:
    return API.parse(ask(*messages, **more))


def own(raw: dict[str, Any]) -> Opaque:
    return Opaque("anthropic", raw)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(call_id: str, name: str = "get_weather", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"city": "Bern"}, **more}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **more}


def test_the_least_request_asks_for_nothing_else() -> None:
    assert parsed() == ClientRequest(
        "anthropic/claude",
        (UserMessage("hi"),),
        options=Options(max_output_tokens=100, family="anthropic"),
        include_usage=True,
    )


def test_the_system_prompt_is_the_first_message_as_text_or_blocks() -> None:
    assert parsed(system="Be kind.").messages[0] == SystemMessage("Be kind.")
    blocks = [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief.", **CACHE}]
    parts = (Text("Be kind."), Text("Be brief.", "anthropic", CACHE))
    assert parsed(system=blocks).messages[0] == SystemMessage("Be kind.\n\nBe brief.", parts=parts)
    assert parsed(system="").messages == parsed(system=[]).messages == (UserMessage("hi"),)


def test_a_system_message_keeps_its_place_in_the_conversation() -> None:
    request = parsed(user("hi"), {"role": "system", "content": "Be brief."})
    assert request.messages == (UserMessage("hi"), SystemMessage("Be brief."))


def test_a_users_blocks_keep_their_order_and_other_fields() -> None:
    file = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    request = parsed(
        user(
            [
                {"type": "text", "text": "What is this?", **CACHE},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}, **CACHE},
                file,
                {**DOCUMENT, "title": "a.pdf", **CACHE},
                {"type": "from_the_future", "text": "?"},
            ]
        )
    )
    parts = (
        Text("What is this?", "anthropic", CACHE),
        Image("image/png", "iVBORw=="),
        Image(url="https://example.com/a.png", family="anthropic", extra=CACHE),
        own(file),
        Document("application/pdf", "JVBERi0=", "a.pdf", "anthropic", CACHE),
        own({"type": "from_the_future", "text": "?"}),
    )
    assert request.messages == (UserMessage("What is this?", parts),)


def test_a_single_block_of_text_is_a_text() -> None:
    assert parsed(user([{"type": "text", "text": "hi"}])).messages == (UserMessage("hi"),)


def test_calls_and_results_belong_together_and_keep_their_other_fields() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    request = parsed(
        user("weather?"),
        assistant(THINKING, {"type": "text", "text": "Looking."}, use("toolu_1", **CACHE), use("toolu_2", "now")),
        user(
            [
                result("toolu_2", content="noon", is_error=False),
                {"type": "text", "text": "go on"},
                result("toolu_1", content=[{"type": "text", "text": "sunny"}, image], is_error=True, **CACHE),
            ]
        ),
    )
    calls = (
        SuggestedCall("toolu_1", "get_weather", '{"city":"Bern"}', "anthropic", CACHE),
        SuggestedCall("toolu_2", "now", '{"city":"Bern"}'),
    )
    sunny = (Text("sunny"), Image(url="https://example.com/a.png"))
    assert request.messages[1:] == (
        AssistantMessage("Looking.", calls, (own(THINKING),)),
        ToolMessage("toolu_2", "now", "noon"),
        ToolMessage("toolu_1", "get_weather", "sunny", sunny, True, "anthropic", CACHE),
        UserMessage("go on"),
    )


def test_results_may_be_spread_over_messages_and_be_empty() -> None:
    request = parsed(
        user("weather?"),
        assistant(use("toolu_1")),
        assistant(use("toolu_2"), use("toolu_3")),
        user([result("toolu_3"), result("toolu_1", content=[])]),
        user([result("toolu_2", content=[{"type": "text", "text": ""}])]),
    )
    assert [message.call_id for message in request.messages if isinstance(message, ToolMessage)] == [
        "toolu_3",
        "toolu_1",
        "toolu_2",
    ]
    assert {message.content for message in request.messages if isinstance(message, ToolMessage)} == {""}


def test_an_answer_of_several_turns_is_one_message_with_its_blocks_in_order() -> None:
    request = parsed(
        user("hi"),
        assistant(
            THINKING,
            {"type": "text", "text": "Searching."},
            SEARCH,
            FOUND,
            {"type": "text", "text": "Paris is "},
            {"type": "text", "text": "big", "citations": [{"type": "page_location"}]},
            {"type": "text", "text": "."},
        ),
        user("thanks"),
    )
    parts = (
        own(THINKING),
        Text("Searching."),
        own(SEARCH),
        own(FOUND),
        Text("Paris is "),
        Text("big", "anthropic", {"citations": [{"type": "page_location"}]}),
        Text("."),
    )
    opaque = (own(THINKING), own(SEARCH), own(FOUND))
    assert request.messages[1] == AssistantMessage("Searching.\n\nParis is big.", (), opaque, parts)


def test_an_empty_answer_of_ours_may_come_back() -> None:
    request = parsed(user("hi"), assistant(), user("hello?"), assistant({"type": "text", "text": ""}), user("?"))
    assert [message for message in request.messages if isinstance(message, AssistantMessage)] == [
        AssistantMessage(""),
        AssistantMessage(""),
    ]


def test_an_answer_to_be_continued_is_marked() -> None:
    request = parsed(user("hi"), {"role": "assistant", "content": "The answer is ("})
    assert request.messages[-1] == AssistantMessage("The answer is (")
    assert request.options.extra == {"prefill": True}
    assert parsed(user("hi"), {"role": "assistant", "content": ""}).options.extra == {}


def test_tools_are_the_clients_own_or_the_providers() -> None:
    custom = {"name": "get.weather", "description": "Weather.", "input_schema": SCHEMA, "strict": True, **CACHE}
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    mcp = {"type": "mcp_toolset", "mcp_server_name": "files"}
    typed = {"type": "custom", "name": "now", "input_schema": {"type": "object"}}
    assert parsed(tools=[custom, search, mcp, typed]).client_tools == (
        ClientTool("get.weather", "Weather.", SCHEMA, True, "anthropic", custom),
        ClientTool("web_search", family="anthropic", raw=search),
        ClientTool("files", family="anthropic", raw=mcp),
        ClientTool("now", "", {"type": "object"}, None, "anthropic", typed),
    )


def test_the_choice_of_tools_is_read() -> None:
    def chosen(**choice: Any) -> tuple[ToolChoice | None, bool | None]:
        options = parsed(tool_choice=choice).options
        return options.tool_choice, options.parallel_tool_calls

    assert chosen(type="auto") == (ToolChoice(), None)
    assert chosen(type="any", disable_parallel_tool_use=True) == (ToolChoice("required"), False)
    assert chosen(type="none") == (ToolChoice("none"), None)
    assert chosen(type="tool", name="f", disable_parallel_tool_use=False) == (ToolChoice("tool", "f"), True)


def test_options_are_read_and_the_rest_is_kept() -> None:
    rest = {
        "thinking": {"type": "adaptive"},
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "service_tier": "auto",
        "cache_control": {"type": "ephemeral"},
        "container": "container_1",
        "mcp_servers": [{"type": "url", "url": "https://example.com", "name": "files"}],
        "betas": ["files-api-2025-04-14"],
    }
    request = parsed(temperature=0, top_p=0.5, stop_sequences=["END"], stream=True, inference_geo=None, **rest)
    assert request.stream is True
    assert request.options == Options(100, 0, 0.5, ("END",), family="anthropic", extra=rest)


def test_the_form_of_the_answer_is_read_and_what_else_is_configured_is_kept() -> None:
    form = {"type": "json_schema", "schema": SCHEMA}
    options = parsed(output_config={"effort": "low", "format": form}).options
    assert options.response_format == ResponseFormat("json_schema", schema=SCHEMA)
    assert options.extra == {"output_config": {"effort": "low"}}
    options = parsed(output_format=form).options
    assert (options.response_format, options.extra) == (ResponseFormat("json_schema", schema=SCHEMA), {})


def test_tokens_are_counted_without_a_limit_on_them() -> None:
    request = API.parse_count({"model": "claude", "messages": [user("hi")], "system": "Be kind."})
    assert request == ClientRequest(
        "claude",
        (SystemMessage("Be kind."), UserMessage("hi")),
        options=Options(family="anthropic"),
        include_usage=True,
    )


def test_many_tools_with_odd_names_and_recursive_schemas_are_taken() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    names = ["a.b", "wetter_für_köln", "x" * 200, *(f"tool_{number}" for number in range(500))]
    request = parsed(tools=[{"name": name, "input_schema": schema} for name in names])
    assert [tool.name for tool in request.client_tools] == names
