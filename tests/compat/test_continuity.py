"""Hidden managed rounds are put back into what a stateless client sends, where they belong and nowhere else."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai

from tests.compat.test_ownership import ROME, TASKS, WEATHER
from tests.database import rows
from tests.hostile.upstream import Upstream, completion
from tests.people import Cast, Person
from tests.waiting import until

Client = Callable[[Person], openai.OpenAI]


def _ask(client: openai.OpenAI, messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model="openai/m", messages=messages, **more)


def _shown(script: Any, turn: int) -> list[tuple[str, Any]]:
    """What the model was shown: role and text, or the names of the calls."""
    found = []
    for message in script.asked[turn]["messages"]:
        calls = [call["function"]["name"] for call in message.get("tool_calls") or ()]
        if message["role"] != "system":
            found.append((message["role"], calls or message["content"]))
    return found


def test_the_next_question_finds_the_managed_round_of_the_last(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Again."))
    first: Any = {"role": "user", "content": script.name}
    answer = _ask(client(tenant.alice), [first])
    said = answer.choices[0].message.content
    again = _ask(client(tenant.alice), [first, {"role": "assistant", "content": said}, first])
    assert _shown(script, 2) == [
        ("user", script.name), ("assistant", ["list_tasks"]), ("tool", '{"ok":true,"data":{"tasks":[]}}'),
        ("assistant", "None."), ("user", script.name),
    ]  # fmt: skip
    assert again.toolgate["conversation_id"] == answer.toolgate["conversation_id"]


def test_a_clients_tool_results_find_the_managed_round_before_its_call(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("Now you.", ROME), completion("Sunny."))
    first: Any = {"role": "user", "content": script.name}
    message = _ask(client(tenant.alice), [first], tools=[WEATHER]).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21 degrees"}
    answer = _ask(client(tenant.alice), [first, message.model_dump(exclude_none=True), result], tools=[WEATHER])
    assert answer.choices[0].message.content == "Sunny."
    assert _shown(script, 2) == [
        ("user", script.name), ("assistant", ["list_tasks"]), ("tool", '{"ok":true,"data":{"tasks":[]}}'),
        ("assistant", ["get_weather"]), ("tool", "21 degrees"),
    ]  # fmt: skip


def test_an_edited_transcript_passes_as_it_is(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Again."))
    first: Any = {"role": "user", "content": script.name}
    _ask(client(tenant.alice), [first])
    edited: Any = [first, {"role": "assistant", "content": "Something else."}, first]
    _ask(client(tenant.alice), edited)
    assert _shown(script, 2) == [("user", script.name), ("assistant", "Something else."), ("user", script.name)]


def test_another_user_or_tenant_finds_nothing(
    upstream: Upstream, client: Client, tenant: Cast, other_tenant: Cast
) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Again."))
    first: Any = {"role": "user", "content": script.name}
    said = _ask(client(tenant.alice), [first]).choices[0].message.content
    transcript: Any = [first, {"role": "assistant", "content": said}, first]
    for at, person in enumerate((tenant.bob, tenant.olga, other_tenant.alice), 2):
        _ask(client(person), transcript)
        assert _shown(script, at) == [("user", script.name), ("assistant", said), ("user", script.name)]


def test_a_pending_approval_is_a_finished_answer_and_its_result_is_in_the_next_turn(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    mail = ("e1", "send_email", '{"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}')
    script = upstream.script(completion("I write.", mail), completion("Still waiting."), completion("It is sent."))
    first: Any = {"role": "user", "content": script.name}
    answer = _ask(client(tenant.alice), [first])
    said = answer.choices[0].message.content
    assert (answer.choices[0].finish_reason, answer.toolgate["status"]) == ("stop", "requires_action")
    approval = answer.toolgate["tool_calls"][0]["approval_id"]
    assert said.startswith("I write.\n\nA human has to approve this before it runs: send_email")
    assert approval in said

    transcript: Any = [first, {"role": "assistant", "content": said}, first]
    _ask(client(tenant.alice), transcript)
    tool_results = json.loads(_shown(script, 1)[2][1])
    assert tool_results["error"]["code"] == "approval_pending"

    url = f"{upstream.stack.url}/api/v1/approvals/{approval}/approve/"
    assert httpx.post(url, json={}, headers=tenant.carol.headers).status_code == 200
    _until_over(answer.toolgate["run_id"])
    _ask(client(tenant.alice), transcript)
    assert json.loads(_shown(script, 2)[2][1])["ok"] is True
    # The run that waited ended without asking the model once more.
    assert len(script.asked) == 3


def test_the_notice_speaks_of_what_waits_only(upstream: Upstream, client: Client, tenant: Cast) -> None:
    mail = ("e1", "send_email", '{"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}')
    script = upstream.script(completion("Both.", ("n1", "save_note", '{"title": "a", "content": "b"}'), mail))
    answer = _ask(client(tenant.alice), [{"role": "user", "content": script.name}])
    assert [call["status"] for call in answer.toolgate["tool_calls"]] == ["success", "awaiting_approval"]
    notice = answer.choices[0].message.content
    assert "send_email" in notice and "save_note" not in notice and "Nothing" not in notice


def _until_over(run_id: str) -> None:
    until(lambda: rows("SELECT 1 AS it FROM runs WHERE id = %(id)s AND status = 'completed'", id=run_id))
