"""Runs that came in over the compatible APIs, driven once more out of their rows."""

import uuid
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.approvals.api import decide
from tests.database import rows
from tests.gateway.runs.replays import ended, intact, run_of, wire
from tests.hostile.upstream import Upstream, completion, running
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS

TASKS = ("t1", "list_tasks", "{}")
SAVED = ("n1", "save_note", '{"title": "a", "content": "b"}')
WEATHER: Any = {
    "type": "function",
    "function": {"name": "get_weather", "description": "", "parameters": {"type": "object", "properties": {}}},
}
ROME = ("w1", "get_weather", '{"city": "Rome"}')


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A provider that tests script, with a running Toolgate that asks it."""
    with running() as started:
        yield started


def _request(tenant: Cast) -> uuid.UUID:
    (row,) = rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    found: uuid.UUID = row["id"]
    return found


def _client(upstream: Upstream, tenant: Cast) -> openai.OpenAI:
    return openai.OpenAI(
        api_key=tenant.alice.key, base_url=f"{upstream.stack.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS
    )


@pytest.mark.parametrize(
    "replies",
    [
        [completion("I ask.", ROME)],
        [completion("Both.", TASKS, ROME), completion("Now I ask.", ROME)],
        [completion("Mixed.", ROME, SAVED)],
    ],
    ids=["client calls", "managed calls before client calls", "client calls before managed ones"],
)
def test_a_run_with_tools_of_the_client_replays(upstream: Upstream, tenant: Cast, replies: list[Any]) -> None:
    script = upstream.script(*replies)
    messages: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": script.name}]
    try:
        _client(upstream, tenant).chat.completions.create(
            model="openai/m", messages=messages, tools=[WEATHER], temperature=0.2
        )
    except openai.UnprocessableEntityError:
        assert "Mixed." in str(rows("SELECT text FROM turns WHERE tenant_id = %(t)s", t=tenant.id))
    found = intact(tenant, run_of(tenant))
    assert [wire(prompt) for prompt in found.prompts] == script.asked


def test_a_stateless_clients_next_request_replays_with_the_hidden_rounds(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(completion("Looking.", TASKS), completion("None."), completion("Bye."))
    client = _client(upstream, tenant)
    said: Any = [{"role": "user", "content": script.name}]
    first = client.chat.completions.create(model="openai/m", messages=said)
    said += [{"role": "assistant", "content": first.choices[0].message.content}]
    said += [{"role": "user", "content": f"{script.name} thanks"}]
    client.chat.completions.create(model="openai/m", messages=said)
    first_run, second_run = rows("SELECT id FROM runs WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)
    assert [wire(each) for each in intact(tenant, str(first_run["id"])).prompts] == script.asked[:2]
    assert [wire(each) for each in intact(tenant, str(second_run["id"])).prompts] == script.asked[2:]


def test_a_run_over_v1_that_waited_for_a_human_ends_as_it_did(upstream: Upstream, tenant: Cast) -> None:
    mail = ("m1", "send_email", '{"to": "bob@example.com", "subject": "Hello", "body": "Hi"}')
    script = upstream.script(completion("Mailing.", mail))
    _client(upstream, tenant).chat.completions.create(
        model="openai/m", messages=[{"role": "user", "content": script.name}]
    )
    assert decide(upstream.stack, tenant.carol, _request(tenant), "approve").status_code == 200
    run_id = run_of(tenant)
    assert ended(upstream.stack, tenant.alice, run_id)["status"] == "completed"
    intact(tenant, run_id)
