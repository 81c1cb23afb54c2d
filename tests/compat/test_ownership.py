"""Managed tools beside the client's own: whose call is whose, and in which order both are answered."""

from collections.abc import Callable
from typing import Any

import openai
import pytest

from tests.database import rows
from tests.hostile.upstream import Upstream, call_delta, completion, streamed
from tests.people import Cast, Person

Client = Callable[[Person], openai.OpenAI]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ROME = ("w1", "get_weather", '{"city": "Rome"}')
TASKS = ("t1", "list_tasks", "{}")


def _asked(script: Any, turn: int) -> list[str]:
    """The roles of what the model was shown in a turn, system messages left out."""
    return [message["role"] for message in script.asked[turn]["messages"] if message["role"] != "system"]


def test_managed_tools_are_added_beside_the_clients(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Hi."))
    client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}], tools=[WEATHER]
    )
    names = {tool["function"]["name"] for tool in script.asked[0]["tools"]}
    memory = {"memory_search", "memory_store"}
    tasks = {"list_tasks", "add_task", "complete_task", "update_task"}
    schedules = {"schedule", "list_schedules", "run_schedule", "cancel_schedule"}
    files = {"delete_file", "edit_file", "file_info", "list_files", "read_file", "search_files", "write_file"}
    others = {"get_weather", "web_fetch", "web_search", "save_note", "search_notes", "send_email", "subagent"}
    messages = {"message", "create_reminder", "canvas"}
    sessions = {"label_session", "list_sessions", "read_session", "send_to_session"}
    assert names == sessions | others | messages | tasks | schedules | files | memory


def test_a_managed_turn_runs_here_and_is_seen_in_toolgate_only(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."))
    answer = client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}]
    )
    message = answer.choices[0].message
    assert (message.content, message.tool_calls, answer.choices[0].finish_reason) == ("Looking.\n\nNone.", None, "stop")
    assert answer.usage is not None and answer.usage.total_tokens == 20
    toolgate: Any = answer.model_extra and answer.model_extra["toolgate"]
    assert toolgate["status"] == "completed"
    assert [(call["tool"], call["status"]) for call in toolgate["tool_calls"]] == [("list_tasks", "success")]
    assert _asked(script, 1) == ["user", "assistant", "tool"]


def test_a_client_turn_goes_back_unchanged(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I ask.", ROME, ("w2", "get_weather", '{"city": "Oslo"}')))
    answer = client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}], tools=[WEATHER]
    )
    choice = answer.choices[0]
    calls: Any = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
        ROME, ("w2", "get_weather", '{"city": "Oslo"}')
    ]  # fmt: skip
    assert rows("SELECT 1 AS it FROM tool_calls WHERE tenant_id = %(id)s", id=tenant.id) == []


def test_managed_calls_before_client_calls_run_and_the_model_asks_again(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Both.", TASKS, ROME), completion("", ROME))
    answer = client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}], tools=[WEATHER]
    )
    calls: Any = answer.choices[0].message.tool_calls
    assert [call.id for call in calls] == ["w1"]
    shown = script.asked[1]["messages"]
    assistant = next(message for message in shown if message["role"] == "assistant")
    assert [call["function"]["name"] for call in assistant["tool_calls"]] == ["list_tasks"]


def test_a_client_call_before_a_managed_one_is_422_and_nothing_runs(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("", ROME, ("n1", "save_note", '{"title": "a", "content": "b"}')))
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client(tenant.alice).chat.completions.create(
            model="openai/m", messages=[{"role": "user", "content": script.name}], tools=[WEATHER]
        )
    assert "get_weather" in str(refused.value) and "save_note" in str(refused.value)
    assert "managed tools first" in str(refused.value)
    found = rows("SELECT tool_name, status, error_code FROM tool_calls WHERE tenant_id = %(id)s", id=tenant.id)
    assert found == [{"tool_name": "save_note", "status": "error", "error_code": "cancelled"}]
    assert rows("SELECT 1 AS it FROM notes WHERE tenant_id = %(id)s", id=tenant.id) == []


def test_a_client_tool_may_not_have_a_managed_tools_name(upstream: Upstream, client: Client, tenant: Cast) -> None:
    shadow = WEATHER | {"function": WEATHER["function"] | {"name": "save_note"}}
    with pytest.raises(openai.BadRequestError) as refused:
        client(tenant.alice).chat.completions.create(
            model="openai/m", messages=[{"role": "user", "content": "hi"}], tools=[shadow]
        )
    assert "save_note" in str(refused.value)
    assert (refused.value.code, refused.value.param) == ("shadows_managed_tool", "tools[0]")


def test_a_demanded_call_is_demanded_of_the_first_turn_only(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("", TASKS), completion("None."))
    client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}], tool_choice="required"
    )
    assert [asked.get("tool_choice") for asked in script.asked] == ["required", None]


def test_streamed_text_of_managed_turns_comes_through_and_their_calls_do_not(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(
        streamed({"content": "Look"}, {"content": "ing."}, call_delta(0, *TASKS), finish="tool_calls"),
        streamed({"content": "And "}, {"content": "then."}, call_delta(0, *ROME), finish="tool_calls"),
    )
    text, names, finishes, toolgate = "", [], [], None
    for chunk in client(tenant.alice).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}], tools=[WEATHER], stream=True
    ):
        toolgate = (chunk.model_extra or {}).get("toolgate", toolgate)
        for choice in chunk.choices:
            text += choice.delta.content or ""
            names += [
                call.function.name for call in choice.delta.tool_calls or () if call.function and call.function.name
            ]
            finishes += [choice.finish_reason] if choice.finish_reason else []
    assert (text, names, finishes) == ("Looking.\n\nAnd then.", ["get_weather"], ["tool_calls"])
    assert toolgate is not None and toolgate["tool_calls"][0]["tool"] == "list_tasks"
