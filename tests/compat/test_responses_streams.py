"""Responses as streams, to the official client: every item as it comes, and the whole at the end."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.compat.test_ownership import ROME, TASKS
from tests.compat.test_responses import WEATHER, ask, kinds, shown
from tests.hostile.upstream import Upstream, call_delta, completion, failing, streamed
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS

Client = Callable[[Person], openai.OpenAI]


def test_a_failed_response_can_be_read_again(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(failing(401))
    alice = client(tenant.alice)
    with pytest.raises(openai.APIStatusError) as failed:
        ask(alice, script.name)
    assert failed.value.status_code == 502
    gate = threading.Event()
    cut = upstream.script(streamed({"content": "Hel"}, {"content": "lo"}, finish=None, between=gate))
    events = []
    for event in ask(alice, cut.name, stream=True):
        events.append(event)
        if event.type == "response.output_text.delta":
            gate.set()
    assert [event.type for event in events[-4:]] == [
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.failed",
    ]  # fmt: skip
    assert events[-1].response.error.code == "provider_error"
    again: Any = alice.responses.retrieve(events[-1].response.id)
    assert (again.status, again.error.code) == ("failed", "provider_error")


def test_what_goes_on_from_a_response_that_is_still_made_waits_for_it(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    gate = threading.Event()
    script = upstream.script(streamed({"content": "Hel"}, {"content": "lo."}, between=gate), completion("Bye."))
    alice = client(tenant.alice)
    stream = ask(alice, script.name, stream=True)
    first = next(event.response for event in stream if event.type == "response.created")
    stream.close()
    assert alice.responses.retrieve(first.id).status == "in_progress"
    with ThreadPoolExecutor() as pool:
        answering = pool.submit(ask, alice, f"{script.name} and?", previous_response_id=first.id)
        gate.set()
        assert answering.result(PATIENCE_SECONDS).output_text == "Bye."
    assert shown(script, 1) == [("user", script.name), ("assistant", "Hello."), ("user", f"{script.name} and?")]


def test_a_stream_tells_every_item_and_ends_with_the_whole_response(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script = upstream.script(
        streamed({"content": "Loo"}, {"content": "king."}, call_delta(0, *TASKS), finish="tool_calls"),
        streamed({"reasoning_content": "Hm."}, {"content": "Now you."}, call_delta(0, *ROME), finish="tool_calls"),
    )
    events = list(ask(client(tenant.alice), script.name, tools=[WEATHER], stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type.removeprefix("response.") for event in events if "delta" not in event.type] == [
        "created", "in_progress",
        "output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.done", "mcp_call.completed",
        "output_item.done",
        "output_item.added", "content_part.added", "reasoning_text.done", "content_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    whole = events[-1].response
    assert kinds(whole) == ["message", "mcp_call", "reasoning", "message", "function_call"]
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert [item.id for item in done] == [item.id for item in whole.output]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == (
        "Looking.Now you."
    )
    assert client(tenant.alice).responses.retrieve(whole.id).output == whole.output


def test_the_sdks_own_stream_collects_the_same(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(
        streamed({"content": "Looking."}, call_delta(0, *TASKS), finish="tool_calls"),
        streamed(call_delta(0, *ROME), finish="tool_calls"),
    )
    with client(tenant.alice).responses.stream(model="openai/m", input=script.name, tools=[WEATHER]) as stream:
        response: Any = stream.get_final_response()
    assert kinds(response) == ["message", "mcp_call", "function_call"]
    assert (response.output_text, response.output[2].name) == ("Looking.", "get_weather")
    assert response.toolgate["status"] == "completed"


def test_a_spent_budget_is_an_incomplete_response(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(streamed({"content": "And so"}, finish="length"))
    events = list(ask(client(tenant.alice), script.name, stream=True))
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.incomplete_details.reason == "max_output_tokens"


def test_a_refusal_is_a_refusal(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(streamed({"refusal": "I "}, {"refusal": "cannot."}))
    events = list(ask(client(tenant.alice), script.name, stream=True))
    assert "".join(event.delta for event in events if event.type == "response.refusal.delta") == "I cannot."
    content = events[-1].response.output[0].content[0]
    assert (content.type, content.refusal) == ("refusal", "I cannot.")
