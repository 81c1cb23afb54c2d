"""Runs whose calls ask their user: suspended with nothing held, shown, answered, and taken on."""

import asyncio
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from approvals.questions import answering
from gateway.compat.replies import reply
from gateway.providers.interface import Answer
from gateway.runs import loop
from gateway.runs.lifecycle import beginning, driving, following, stopping
from gateway.runs.preparation import ChatRequest
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.view import RunView, body
from gateway.runs.watching.events import START, Position, after, position
from gateway.web import timeline
from tenants.scope import transactions
from tests.database import Row, rows
from tests.gateway.runs.ports import Model, calling
from tests.people import Cast, Person
from tests.questions.asking import NAME, NAME_SCHEMA, PAGE, Asking, Workers, asks
from tests.waiting import PATIENCE_SECONDS


class _Providers:
    def __init__(self, model: Model) -> None:
        self._model = model

    def check(self, name: str) -> tuple[str, str]:
        return "played", name

    def resolve(self, name: str) -> tuple[Model, str]:
        return self._model, name


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the model give these answers, one a turn."""

    def say(*answers: Answer | Exception) -> Model:
        model = Model(*answers)
        monkeypatch.setattr(loop, "providers", lambda: _Providers(model))
        return model

    return say


async def _chat(person: Person, workers: Workers) -> RunView:
    """Chat, and let the workers do what they can until the run rests."""
    view = await beginning.begin(person.principal, ChatRequest("Hello.", model="demo/simple"))
    await _rest(person, workers, view.id)
    return await following.look(person.scope, view.id)


async def _rest(person: Person, workers: Workers, run_id: uuid.UUID) -> RunView:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await workers.work(person)
            view = await following.look(person.scope, run_id)
            if run_id not in driving.driven_here and (view.final or view.suspended):
                return view
            await asyncio.sleep(0.01)


def _asked(view: RunView) -> list[Row]:
    return rows("SELECT * FROM questions WHERE run_id = %(id)s ORDER BY call_id, round, position", id=view.id)


def _names(view: RunView, at: Position = START) -> tuple[list[str], Position]:
    found = list(after(view, at))
    return [event.name for event in found], position(str(found[-1].position)) if found else at


async def test_a_run_waits_for_its_users_answer_with_nothing_held_and_goes_on_with_it(
    tenant: Cast, workers: Workers, says: Any
) -> None:
    workers.install(Asking(asks(NAME, PAGE)))
    model = says(calling("asking", text="Asking."), Answer("Hello, Ada."))
    view = await _chat(tenant.alice, workers)
    [run] = rows("SELECT status, lease_until FROM runs WHERE id = %(id)s", id=view.id)
    assert (run["status"], run["lease_until"]) == ("requires_action", None)
    first, second = _asked(view)
    expires_at = body(view)["required_action"]["questions"][0]["expires_at"]
    common = {"tool": "asking", "expires_at": expires_at}
    schema = {**NAME_SCHEMA, "additionalProperties": False}
    assert body(view)["required_action"] == {
        "type": "input",
        "approvals": [],
        "questions": [
            {"id": str(first["id"]), "message": NAME.message, "schema": schema, **common},
            {"id": str(second["id"]), "message": PAGE.message, "url": PAGE.url, **common},
        ],
    }
    assert [call["status"] for call in body(view)["tool_calls"]] == ["running"]
    # Over `/v1`: in words, and beside the vendor's fields.
    said = reply(view, ClientRequest("demo/simple", ()), 0)
    assert f"{NAME.message} (asking, question {first['id']})" in said.notice and PAGE.message in said.notice
    assert (said.toolgate["required_action"], said.pending) == (body(view)["required_action"], ())
    names, at = _names(view)
    assert names == [
        "run.created", "message.delta", "tool_call.proposed", "tool_call.running", "tool_call.input_required",
        "run.requires_action",
    ]  # fmt: skip

    await answering.answer(tenant.alice.scope, first["id"], "accept", {"name": "Ada"}, via="api")
    view = await _rest(tenant.alice, workers, view.id)
    assert view.suspended and [each["id"] for each in body(view)["required_action"]["questions"]] == [str(second["id"])]
    await answering.answer(tenant.alice.scope, second["id"], "accept", via="api")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (view := await _rest(tenant.alice, workers, view.id)).final:
            await asyncio.sleep(0.01)
    assert (view.run.status, body(view)["content"], body(view)["required_action"]) == ("completed", "Hello, Ada.", None)
    shown = model.asked[1].messages[-1]
    assert '"name":["accept",{"name":"Ada"}]' in shown.content
    # Nobody looked while it ran again.
    assert _names(view, at)[0] == ["tool_call.settled", "message.delta", "run.completed"]
    # What was asked is not told again once it is answered.
    assert _names(view)[0] == [
        "run.created", "message.delta", "tool_call.proposed", "tool_call.running", "tool_call.settled",
        "run.requires_action", "message.delta", "run.completed",
    ]  # fmt: skip


async def test_the_runs_timeline_shows_how_long_it_waited_for_its_user(
    tenant: Cast, workers: Workers, says: Any
) -> None:
    workers.install(Asking(asks(), asks(PAGE)))
    says(calling("asking"), Answer("Done."))
    view = await _chat(tenant.alice, workers)

    async def bars() -> list[str]:
        def read() -> list[str]:
            with transactions.scope(*tenant.dana.scope):
                drawn = timeline.read(tenant.dana.principal, view.id)
            assert drawn is not None
            [line] = [each for each in drawn.lines if each.call is not None]
            return [each.kind for each in line.stretches]

        return await sync_to_async(read)()

    assert (await bars())[-2:] == ["ran", "asked"]
    for content in ({"name": "Ada"}, None):
        [question] = [each for each in _asked(view) if each["status"] == "pending"]
        await answering.answer(tenant.alice.scope, question["id"], "accept", content, via="api")
        await _rest(tenant.alice, workers, view.id)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (await _rest(tenant.alice, workers, view.id)).final:
            await asyncio.sleep(0.01)
    assert (await bars())[-5:] == ["ran", "asked", "ran", "asked", "ran"]


async def test_cancelling_a_run_that_waits_for_an_answer_withdraws_the_question(
    tenant: Cast, workers: Workers, says: Any
) -> None:
    tool = Asking(asks())
    workers.install(tool)
    says(calling("asking"))
    view = await _chat(tenant.alice, workers)
    view = await stopping.cancel(tenant.alice.scope, view.id)
    [call] = view.turns[0].calls
    assert (view.run.status, call.status, call.error_code) == ("cancelled", "error", "cancelled")
    assert [(each["status"], each["used_at"] is not None) for each in _asked(view)] == [("cancelled", True)]
    assert (await workers.work(tenant.alice), len(tool.seen)) == (0, 1)


async def test_a_call_that_asks_after_its_run_has_ended_asks_nobody(tenant: Cast, workers: Workers, says: Any) -> None:
    tool = Asking(asks())
    workers.install(tool)
    says(calling("asking"))
    view = await beginning.begin(tenant.alice.principal, ChatRequest("Hello.", model="demo/simple"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(task == "tools.execute_remote" for task, _ in workers.sent):
            await asyncio.sleep(0.01)
    [(_, (_, _, call_id))] = workers.sent
    # It has begun when the run is cancelled.
    begun = asyncio.Event()
    cancelled = asyncio.Event()
    execute = tool.execute

    async def late(*given: Any) -> Any:
        begun.set()
        await cancelled.wait()
        return await execute(*given)

    tool.execute = late  # type: ignore[method-assign]
    working = asyncio.create_task(workers.work(tenant.alice))
    await begun.wait()
    await stopping.cancel(tenant.alice.scope, view.id)
    cancelled.set()
    await working
    [row] = rows("SELECT status, error_code FROM tool_calls WHERE id = %(id)s", id=call_id)
    assert (row, _asked(view)) == ({"status": "error", "error_code": "cancelled"}, [])


async def test_other_calls_of_the_turn_run_while_one_waits_for_its_user(
    tenant: Cast, workers: Workers, says: Any
) -> None:
    tool = Asking(asks())
    workers.install(tool)
    says(calling("asking", "asking"), Answer("Done."))
    view = await _chat(tenant.alice, workers)
    assert [call.status for call in view.turns[0].calls] == ["running", "success"]
    await answering.answer(tenant.alice.scope, _asked(view)[0]["id"], "accept", {"name": "Ada"}, via="api")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (view := await _rest(tenant.alice, workers, view.id)).final:
            await asyncio.sleep(0.01)
    assert [call.status for call in view.turns[0].calls] == ["success", "success"]
    assert len(tool.seen) == 3
