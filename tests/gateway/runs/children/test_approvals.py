"""Requests of children, which climb to the runs above them."""

import asyncio
import uuid
from typing import Any

import pytest

from approvals.requests import callers_rights, decisions
from approvals.requests.decisions import Decider
from gateway.compat import replies
from gateway.runs.lifecycle import driving, following
from gateway.runs.live_ports import LiveUnitOfWork
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.rows import Run
from gateway.runs.view import TurnView, body, pending
from gateway.runs.watching import events
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, answered, begun, ended, subagent, tree
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.waiting import eventually
from tools.gates import order
from tools.gates.interface import Caller
from tools.invocation import evaluation
from tools.invocation.evaluation import Suggestion


def _decider(person: Person) -> Decider:
    return Decider(person.principal.tenant_id, person.principal.user_id, "api")


async def _look(person: Person, run_id: Any) -> dict[str, Any]:
    return body(await following.look(person.scope, run_id))


async def test_the_request_of_a_grandchild_is_shown_by_every_run_above_with_the_way_to_it(tenant: Cast) -> None:
    answer = await ended(tenant.alice, subagent(subagent(MAIL)))
    _, child, grandchild = tree(tenant.alice)
    assert answer["status"] == "requires_action"
    [request] = rows("SELECT * FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    shown = {
        "id": str(request["id"]),
        "tool": "send_email",
        "input": {"to": "bob@example.com", "subject": "Hello", "body": "Hello."},
        "expires_at": request["expires_at"].isoformat(),
        "run_id": str(grandchild["id"]),
        "path": [str(child["id"]), str(grandchild["id"])],
    }
    assert answer["required_action"] == {"type": "approval", "approvals": [shown]}
    below = await _look(tenant.alice, child["id"])
    assert (below["status"], below["required_action"]["approvals"][0]["path"]) == (
        "requires_action",
        [str(grandchild["id"])],
    )
    own = await _look(tenant.alice, grandchild["id"])
    assert "path" not in own["required_action"]["approvals"][0]
    # Only the one that asked waits for a human; nobody drives any of them.
    assert [run["status"] for run in tree(tenant.alice)] == ["waiting", "waiting", "requires_action"]
    assert [run["lease_until"] for run in tree(tenant.alice)] == [None, None, None]


async def test_the_request_of_a_child_says_that_its_task_is_no_words_of_the_user(tenant: Cast) -> None:
    await ended(tenant.alice, subagent(MAIL))
    [request] = rows("SELECT id, context FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    task, answer = request["context"]
    assert task == {"role": "user", "text": MAIL, "cut": 0, "by_person": False}
    assert answer["role"] == "assistant" and "by_person" not in answer
    page = await asyncio.to_thread(lambda: signed_in(tenant.carol).get(f"/approvals/{request['id']}/"))
    card = page.content.decode()
    assert "<strong>The task that another run’s model wrote</strong>" in card
    assert "<strong>alice</strong>" not in card


async def test_once_it_is_decided_the_one_that_asked_goes_on_and_then_those_above(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(subagent(MAIL)))
    waiting = await answered(tenant.alice, view)
    parent, child, grandchild = tree(tenant.alice)
    [request] = waiting["required_action"]["approvals"]
    for waits in (parent, child, grandchild):
        await driving.take_over(tenant.alice.scope, waits["id"])
    assert [run["fence"] for run in tree(tenant.alice)] == [parent["fence"], child["fence"], grandchild["fence"]]
    await decisions.deny(_decider(tenant.carol), uuid.UUID(request["id"]), reason="Not today.")
    await driving.take_over(tenant.alice.scope, grandchild["id"])
    await eventually(lambda: tree(tenant.alice)[0]["status"] == "completed")
    assert [run["status"] for run in tree(tenant.alice)] == ["completed"] * 3
    calls = rows("SELECT tool_name, status, error_code FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert sorted((call["tool_name"], call["status"], call["error_code"]) for call in calls) == [
        ("send_email", "error", "approval_denied"),
        ("subagent", "success", None),
        ("subagent", "success", None),
    ]


async def test_a_request_is_told_above_once_the_run_that_asked_has_let_go(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a stream of the run above would end without saying what it waits for."""
    asked, let_go = asyncio.Event(), asyncio.Event()
    suspend = LiveUnitOfWork.suspend

    async def late(step: LiveUnitOfWork, turn: TurnView, notice: str) -> Run | None:
        if pending(turn):
            asked.set()
            await let_go.wait()
        return await suspend(step, turn, notice)

    async def reported() -> tuple[bool, int]:
        seen = await following.look(tenant.alice.scope, view.id)
        names = [event.name for event in events.after(seen, events.START)]
        return seen.suspended, names.count("run.requires_action")

    monkeypatch.setattr(LiveUnitOfWork, "suspend", late)
    view = await begun(tenant.alice, subagent(MAIL))
    await asked.wait()
    await eventually(lambda: tree(tenant.alice)[0]["status"] == "waiting" and view.id not in driving.driven_here)
    assert len(rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)) == 1
    assert await reported() == (False, 0)
    let_go.set()
    await answered(tenant.alice, view)
    assert await reported() == (True, 1)


async def test_a_call_that_needs_a_human_is_refused_where_nobody_above_listens(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(MAIL))
    await answered(tenant.alice, view)
    _, child = tree(tenant.alice)
    async with transaction(tenant.alice.scope) as connection:
        unheard = await callers_rights.load(
            connection, tenant.alice.scope.user_id, child["profile"] | {"channel": None}
        )
    name, _, arguments = MAIL.removeprefix("call: ").partition(" ")
    [call] = await evaluation.evaluate(
        [Suggestion(name, arguments)],
        unheard,
        Caller(*tenant.alice.scope, agent="default"),
        earlier_failures=None,
        most_seconds=30,
        gates=order.new_call(),
    )
    assert call.refusal is not None and call.approval_id is None
    assert call.refusal.code == "permission_denied"
    assert "nobody listens" in call.refusal.message


async def test_over_a_compatible_api_the_run_above_answers_with_the_request_from_below(tenant: Cast) -> None:
    view = await begun(tenant.alice, subagent(MAIL))
    answer = await answered(tenant.alice, view)
    assert answer["status"] == "requires_action", answer
    seen = await following.look(tenant.alice.scope, view.id)
    said = replies.reply(seen, ClientRequest(model="x", messages=()), 0)
    [request] = said.pending
    assert said.toolgate["status"] == "requires_action"
    assert f"send_email (approval {request['id']})" in said.notice
