"""Hidden rounds are rows: any process finds them, after any restart, for 30 days and up to a size."""

import os
from collections.abc import Iterator
from typing import Any

import openai
import psycopg
import pytest

from gateway.operations import sweeper
from gateway.runs.prompting import messages as prompts
from tests.compat.test_ownership import ROME, TASKS, WEATHER
from tests.database import rows
from tests.hostile.upstream import Reply, Script, Upstream, completion
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

MANAGED = completion("Looking.", TASKS)
HIDDEN = [("assistant", ["list_tasks"]), ("tool", '{"ok":true,"data":{"tasks":[]}}')]


class _Web(Stack):
    """A second web process beside a stack that stands."""

    def __enter__(self) -> "_Web":
        self.start("web")
        self.wait_ready()
        return self

    def restart(self) -> None:
        """Kill it, and start another in its place."""
        self.kill("web")
        self.start("web")
        self.wait_ready()


@pytest.fixture
def other(upstream: Upstream) -> Iterator[_Web]:
    """Another web process on the same database."""
    with _Web(**upstream.stack.environment) as web:
        yield web


def _ask(stack: Stack, person: Person, messages: list[Any], **more: Any) -> Any:
    client = openai.OpenAI(api_key=person.key, base_url=f"{stack.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS)
    return client.chat.completions.create(model="openai/m", messages=messages, **more).choices[0].message


def _shown(script: Script) -> list[tuple[str, Any]]:
    """What the model was shown last: role and text, or the names of the calls."""
    return [
        (message["role"], [call["function"]["name"] for call in message.get("tool_calls") or ()] or message["content"])
        for message in script.asked[-1]["messages"]
        if message["role"] != "system"
    ]


def _begun(upstream: Upstream, person: Person, *more: Reply) -> tuple[Script, list[Any]]:
    """A script whose first answer hid a managed round, and the transcript that its client goes on with."""
    script = upstream.script(MANAGED, completion("None."), *more, completion("Again."))
    question = {"role": "user", "content": script.name}
    said = _ask(upstream.stack, person, [question]).content
    return script, [question, {"role": "assistant", "content": said}, question]


def test_another_process_and_one_that_was_restarted_find_them(upstream: Upstream, other: _Web, tenant: Cast) -> None:
    script, transcript = _begun(upstream, tenant.alice)
    found = [("user", script.name), *HIDDEN, ("assistant", "None."), ("user", script.name)]
    _ask(other, tenant.alice, transcript)
    assert _shown(script) == found
    other.restart()
    _ask(other, tenant.alice, transcript)
    assert _shown(script) == found


def test_a_follow_up_with_tool_results_finds_them_in_another_process(
    upstream: Upstream, other: _Web, tenant: Cast
) -> None:
    script = upstream.script(MANAGED, completion("Now you.", ROME), completion("Sunny."))
    question = {"role": "user", "content": script.name}
    message = _ask(upstream.stack, tenant.alice, [question], tools=[WEATHER])
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21 degrees"}
    other.restart()
    _ask(other, tenant.alice, [question, message.model_dump(exclude_none=True), result], tools=[WEATHER])
    follow_up = [("assistant", ["get_weather"]), ("tool", "21 degrees")]
    assert _shown(script) == [("user", script.name), *HIDDEN, *follow_up]


# --- age -------------------------------------------------------------------------------------------------------------
def _age(tenant: Cast, age: str) -> None:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        query = b"UPDATE continuations SET created_at = now() - %s::interval WHERE tenant_id = %s"
        assert connection.execute(query, [age, tenant.id]).rowcount == 1


@pytest.mark.parametrize(("age", "used"), [("29 days 23 hours", True), ("30 days 1 minute", False)])
def test_they_are_used_for_30_days(upstream: Upstream, tenant: Cast, age: str, used: bool) -> None:
    script, transcript = _begun(upstream, tenant.alice)
    _age(tenant, age)
    _ask(upstream.stack, tenant.alice, transcript)
    between = [*HIDDEN, ("assistant", "None.")] if used else [("assistant", "Looking.\n\nNone.")]
    assert _shown(script) == [("user", script.name), *between, ("user", script.name)]


async def test_they_are_forgotten_after_30_days_and_not_before(
    upstream: Upstream, tenant: Cast, other_tenant: Cast
) -> None:
    for cast, age in ((tenant, "30 days 1 minute"), (other_tenant, "29 days 23 hours")):
        _begun(upstream, cast.alice)
        _age(cast, age)
    await sweeper.tidy()
    kept = "SELECT 1 AS it FROM continuations WHERE tenant_id = %(id)s"
    assert (rows(kept, id=tenant.id), rows(kept, id=other_tenant.id)) == ([], [{"it": 1}])
    # The run itself stays on record.
    assert len(rows("SELECT 1 AS it FROM runs WHERE tenant_id = %(id)s", id=tenant.id)) == 1


# --- size ------------------------------------------------------------------------------------------------------------
def test_the_newest_are_put_back_as_far_as_there_is_room(upstream: Upstream, tenant: Cast) -> None:
    long = "x" * (prompts.MOST_CHARACTERS // 2)
    script, transcript = _begun(upstream, tenant.alice, completion(long, TASKS), completion("Done."))
    said = _ask(upstream.stack, tenant.alice, transcript).content
    transcript += [{"role": "assistant", "content": said}, transcript[0]]
    _ask(upstream.stack, tenant.alice, transcript)
    newest = [("assistant", ["list_tasks"]), HIDDEN[1], ("assistant", "Done."), ("user", script.name)]
    both = [("user", script.name), *HIDDEN, ("assistant", "None."), ("user", script.name), *newest]
    assert _shown(script) == both

    script, transcript = _begun(upstream, tenant.alice, completion(long * 2, TASKS), completion("Done."))
    said = _ask(upstream.stack, tenant.alice, transcript).content
    transcript += [{"role": "assistant", "content": said}, transcript[0]]
    _ask(upstream.stack, tenant.alice, transcript)
    # The newest round alone is too long, and so none is put back.
    assert [role for role, _ in _shown(script)] == ["user", "assistant", "user", "assistant", "user"]
