"""The official client's Responses against a Toolgate: items, streams, and responses that go on from one another."""

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.compat.test_ownership import ROME, TASKS
from tests.hostile.upstream import Reply, Upstream, completion
from tests.people import Cast, Person

Client = Callable[[Person], openai.OpenAI]

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Current weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}
NO_TASKS = '{"tasks":[]}'


class Sum(BaseModel):
    """A structured answer."""

    total: int


def ask(client: openai.OpenAI, given: Any, **more: Any) -> Any:
    return client.responses.create(model=more.pop("model", "openai/m"), input=given, **more)


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


def shown(script: Any, turn: int) -> list[tuple[str, Any]]:
    """What the model was shown: role and text, or the names of the calls."""
    found = []
    for message in script.asked[turn]["messages"]:
        calls = [call["function"]["name"] for call in message.get("tool_calls") or ()]
        if message["role"] != "system" or "tools" not in str(message["content"]):
            found.append((message["role"], calls or message["content"]))
    return found


def test_an_answer_is_a_response_with_a_message(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Hello."))
    response = ask(
        client(tenant.alice), script.name, temperature=0.5, max_output_tokens=50, metadata={"a": "b"}, user="u"
    )
    assert (response.status, response.output_text, kinds(response)) == ("completed", "Hello.", ["message"])
    assert response.id.startswith("resp_") and response.model == "openai/m"
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (7, 3, 10)
    assert (response.metadata, response.temperature, response.max_output_tokens) == ({"a": "b"}, 0.5, 50)
    assert response.toolgate["status"] == "completed"
    asked = script.asked[0]
    assert (asked["temperature"], asked["max_tokens"], asked["user"]) == (0.5, 50, "u")
    assert "metadata" not in asked


def test_managed_calls_show_as_mcp_calls_between_messages(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."))
    response = ask(client(tenant.alice), script.name)
    assert kinds(response) == ["message", "mcp_call", "message"]
    call = response.output[1]
    assert (call.name, call.server_label, call.arguments, call.output, call.error, call.status) == (
        "list_tasks", "toolgate", "{}", NO_TASKS, None, "completed",
    )  # fmt: skip
    assert [item.content[0].text for item in response.output if item.type == "message"] == ["Looking.", "None."]
    assert (response.usage.total_tokens, len(response.toolgate["tool_calls"])) == (20, 1)


def test_a_managed_call_that_fails_says_why(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("", ("c1", "list_tasks", '{"limit": 0}')), completion("No."))
    call = ask(client(tenant.alice), script.name).output[0]
    assert (call.type, call.status, call.output) == ("mcp_call", "failed", None)
    assert call.error.type == "mcp_tool_execution_error"
    assert "limit" in call.error.content[0]["text"]


def test_a_response_goes_on_from_another_with_its_hidden_rounds(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Again."))
    alice = client(tenant.alice)
    first = ask(alice, script.name, instructions="Be kind.")
    second = ask(alice, f"{script.name} more", previous_response_id=first.id, instructions="Be brief.")
    assert (second.output_text, second.previous_response_id) == ("Again.", first.id)
    assert second.toolgate["conversation_id"] == first.toolgate["conversation_id"]
    # Instructions are those of this request alone.
    assert shown(script, 2) == [
        ("system", "Be brief."), ("user", script.name), ("assistant", ["list_tasks"]),
        ("tool", '{"ok":true,"data":{"tasks":[]}}'), ("assistant", "None."), ("user", f"{script.name} more"),
    ]  # fmt: skip


def test_a_client_that_keeps_no_state_with_us_sends_items_back(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Again."))
    alice = client(tenant.alice)
    question: Any = {"role": "user", "content": script.name}
    first = ask(alice, [question], store=False, include=["reasoning.encrypted_content"])
    items = [item.model_dump(exclude_none=True) for item in first.output]
    ask(alice, [question, *items, question], store=False)
    assert shown(script, 2) == [
        ("user", script.name), ("assistant", ["list_tasks"]), ("tool", '{"ok":true,"data":{"tasks":[]}}'),
        ("assistant", "None."), ("user", script.name),
    ]  # fmt: skip


def test_a_client_may_refer_to_items_by_their_ids(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("Now you.", ROME), completion("Sunny."))
    alice = client(tenant.alice)
    question: Any = {"role": "user", "content": script.name}
    first = ask(alice, [question], tools=[WEATHER])
    assert kinds(first) == ["message", "mcp_call", "message", "function_call"]
    references: Any = [{"type": "item_reference", "id": item.id} for item in first.output]
    result = {"type": "function_call_output", "call_id": first.output[3].call_id, "output": "21 degrees"}
    assert ask(alice, [question, *references, result], tools=[WEATHER]).output_text == "Sunny."
    assert shown(script, 2) == [
        ("user", script.name), ("assistant", ["list_tasks"]), ("tool", '{"ok":true,"data":{"tasks":[]}}'),
        ("assistant", ["get_weather"]), ("tool", "21 degrees"),
    ]  # fmt: skip
    with pytest.raises(openai.NotFoundError):
        ask(client(tenant.bob), [question, *references, result], tools=[WEATHER])
    assert len(script.asked) == 3


def test_the_clients_own_calls_go_back_to_it_and_their_results_come_in(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Now you.", ROME), completion("Sunny."))
    alice = client(tenant.alice)
    first = ask(alice, script.name, tools=[WEATHER])
    call = first.output[1]
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"city": "Rome"})
    result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}]
    second = ask(alice, result, previous_response_id=first.id, tools=[WEATHER])
    assert second.output_text == "Sunny."
    assert shown(script, 1) == [("user", script.name), ("assistant", ["get_weather"]), ("tool", "21 degrees")]


def test_results_must_be_of_calls_that_were_made_and_none_may_be_missing(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Now you.", ROME))
    alice = client(tenant.alice)
    first = ask(alice, script.name, tools=[WEATHER])
    wrong: Any = [{"type": "function_call_output", "call_id": "call_x", "output": "21"}]
    with pytest.raises(openai.BadRequestError, match="call_x"):
        ask(alice, wrong, previous_response_id=first.id, tools=[WEATHER])
    with pytest.raises(openai.BadRequestError, match=first.output[1].call_id):
        ask(alice, script.name, previous_response_id=first.id, tools=[WEATHER])
    assert len(script.asked) == 1


def test_nobody_goes_on_from_anothers_response_or_reads_it(
    upstream: Upstream, client: Client, tenant: Cast, other_tenant: Cast
) -> None:
    script = upstream.script(completion("Hello."))
    first = ask(client(tenant.alice), script.name)
    for person in (tenant.bob, tenant.olga, other_tenant.alice):
        with pytest.raises(openai.NotFoundError) as refused:
            ask(client(person), script.name, previous_response_id=first.id)
        assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")
        with pytest.raises(openai.NotFoundError):
            client(person).responses.retrieve(first.id)
    with pytest.raises(openai.NotFoundError):
        ask(client(tenant.alice), script.name, previous_response_id="resp_none")
    assert len(script.asked) == 1


def test_a_response_can_be_read_again(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."))
    alice = client(tenant.alice)
    first = ask(alice, script.name, tools=[WEATHER])
    again = alice.responses.retrieve(first.id)
    assert again.model_dump(exclude={"created_at"}) == first.model_dump(exclude={"created_at"})
    with pytest.raises(openai.NotFoundError):
        alice.responses.retrieve("resp_" + "0" * 32)


def test_a_structured_answer_is_parsed_although_a_managed_turn_spoke_before(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion('{"total": 3}'))
    response: Any = client(tenant.alice).responses.parse(model="openai/m", input=script.name, text_format=Sum)
    assert response.output_parsed == Sum(total=3)
    assert script.asked[0]["response_format"]["type"] == "json_schema"


def test_the_offline_model_answers_too(upstream: Upstream, client: Client, tenant: Cast) -> None:
    response = ask(client(tenant.alice), "call: list_tasks {}", model="offline/demo", reasoning={})
    assert kinds(response) == ["message", "mcp_call", "message"]


def test_a_model_of_anthropics_answers_too(upstream: Upstream, client: Client, tenant: Cast) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}}
    script = upstream.script(
        _anthropic(thinking, {"type": "text", "text": "Now you."}, call), _anthropic({"type": "text", "text": "Sunny."})
    )
    alice = client(tenant.alice)
    first = ask(alice, script.name, model="anthropic/claude", tools=[WEATHER])
    assert kinds(first) == ["reasoning", "message", "function_call"]
    assert (first.output[0].content[0].text, first.output[2].call_id) == ("Hm.", "toolu_1")
    result: Any = [{"type": "function_call_output", "call_id": "toolu_1", "output": "21 degrees"}]
    more = {"previous_response_id": first.id, "model": "anthropic/claude", "tools": [WEATHER]}
    assert ask(alice, result, **more).output_text == "Sunny."
    # The model finds its own thoughts again, sealed as they were.
    assert script.asked[1]["messages"][1]["content"][0] == thinking
    with pytest.raises(openai.BadRequestError, match="reasoning_effort"):
        ask(alice, "hi", model="anthropic/claude", reasoning={"effort": "low"})


def _anthropic(*blocks: dict[str, Any]) -> Reply:
    reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": reason}
    return Reply([json.dumps(message | {"usage": {"input_tokens": 7, "output_tokens": 3}}).encode()])


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://x"}]}, "mcp"),
        ({"tools": [{**WEATHER, "name": "list_tasks"}]}, "list_tasks"),
        ({"input": []}, "input"),
        ({"model": "nowhere/m"}, "nowhere"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(client: Client, tenant: Cast, more: dict[str, Any], named: str) -> None:
    with pytest.raises((openai.BadRequestError, openai.NotFoundError), match=named):
        client(tenant.alice).responses.create(**({"model": "openai/m", "input": "hi"} | more))
