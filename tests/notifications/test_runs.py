"""Events of runs: once each, for the targets that want them, whoever drives the run."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from django.conf import settings

from gateway.budgets.reservations import used
from gateway.providers.interface import Answer, Usage
from gateway.runs import preparation, reading, repository
from gateway.runs.execution import RunExecution
from gateway.runs.live_ports import LIVE_PORTS
from gateway.runs.rows import Run, RunEnd, TurnValues
from gateway.runs.view import RunView, TurnView
from notifications import delivery
from notifications import outbox as notifications
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.notifications.outbox import address, make_due, outbox
from tests.notifications.receiver import APPROVALS, Receiver, make_target, register
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import eventually
from tools.network.messages import Message

RUNS = [f"run.{status}" for status in ("completed", "incomplete", "failed", "cancelled", "requires_action")]
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Two litres"}'
END = RunEnd("completed", "Two litres.")


def events(tenant: Cast) -> list[str]:
    return [row["event"] for row in outbox(tenant)]


# --- as a user has them ----------------------------------------------------------------------------------------------
async def test_a_run_that_waits_and_completes_is_posted_without_a_word_of_it(
    stack: Stack, tenant: Cast, receiver: Receiver
) -> None:
    await asyncio.to_thread(register, tenant, receiver, RUNS)
    body = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    assert body["status"] == "requires_action"
    assert events(tenant) == ["run.requires_action"]
    approval = body["required_action"]["approvals"][0]["id"]
    url = f"{stack.url}/api/v1/approvals/{approval}/approve/"
    async with httpx.AsyncClient() as client:
        assert (await client.post(url, json={}, headers=tenant.carol.headers)).status_code == 200
    await eventually(lambda: "run.completed" in events(tenant))
    # The stack's worker may not reach a private address, and says so; then it is our turn.
    await eventually(lambda: all(row["problem"] for row in outbox(tenant)))
    make_due(tenant)
    await delivery.deliver(tenant.id)
    assert events(tenant) == ["run.requires_action", "run.completed"]
    [run] = rows("SELECT * FROM runs WHERE id = %(id)s", id=body["run_id"])
    by_type = {message["type"]: message["data"] for message in receiver.messages}
    assert len(receiver.messages) == len(by_type) == 2
    shared = {
        "id": body["run_id"],
        "run_id": body["run_id"],
        "conversation_id": body["conversation_id"],
        "user": {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username},
        "agent": "default",
        "model": run["model"],
        "url": f"https://gate.example/history/runs/{body['run_id']}/",
    }
    times = {name: run[name].strftime("%Y-%m-%dT%H:%M:%S.%fZ") for name in ("created_at", "finished_at")}
    assert by_type == {
        "run.requires_action": shared | times | {"status": "requires_action", "finished_at": None},
        "run.completed": shared | times | {"status": "completed"},
    }
    assert not any(word in str(receiver.messages) for word in ("litres", "Hello", "bob@", "send_email"))


async def test_who_began_a_run_is_written_to_when_it_is_cancelled(stack: Stack, tenant: Cast) -> None:
    address(tenant.alice, tenant.carol)
    await asyncio.to_thread(make_target, tenant, "email", "requester", "", ["run.cancelled"])
    body = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    url = f"{stack.url}/api/v1/runs/{body['run_id']}/cancel"
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            assert (await client.post(url, headers=tenant.alice.headers)).status_code == 200

    def cancelled() -> list[dict[str, Any]]:
        found = [row for row in outbox(tenant) if row["event"] == "run.cancelled"]
        return found if all(row["status"] == "delivered" for row in found) else []

    [row] = await eventually(cancelled)
    assert row["recipient_id"] == tenant.alice.scope.user_id
    mailbox = "".join(file.read_text() for file in Path(settings.EMAIL_FILE_PATH).iterdir())
    [mail] = [mail for mail in mailbox.split("-" * 79) if f"<{row['id']}@localhost>" in mail]
    assert f"Subject: Run cancelled: default for {tenant.alice.username}" in mail.replace("\n ", " ")
    assert f"/history/runs/{body['run_id']}/" in mail
    assert "litres" not in mail


def test_where_nobody_chose_runs_nothing_is_written_about_them(stack: Stack, tenant: Cast) -> None:
    make_target(tenant, "webhook", "https://hooks.example/", "whsec_AAAA", APPROVALS)
    make_target(tenant, "slack", "hooks.example", "https://hooks.example/services/a", RUNS, enabled=False)
    assert stack.chat(tenant.alice, "hello").json()["status"] == "completed"
    assert events(tenant) == []


async def test_where_nobody_chose_runs_no_worker_is_asked(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Message] = []

    async def ask(messages: Sequence[Message]) -> None:
        asked.extend(messages)

    monkeypatch.setattr(notifications.messages, "send", ask)
    await asyncio.to_thread(register, tenant, receiver)
    assert await end(driver(tenant.alice, await run_of(tenant.alice)), "finish") is not None
    assert (asked, events(tenant)) == ([], [])


# --- exactly once ----------------------------------------------------------------------------------------------------
async def run_of(person: Person) -> Run:
    """A run in progress under fence 1, whose lease is over."""
    execution = await preparation.open(person.scope, preparation.ChatRequest("hello"))
    async with transaction(person.scope) as connection:
        await connection.execute("UPDATE runs SET lease_until = '2001-01-01' WHERE id = %s", [execution.view.id])
        run = await reading.run(connection, person.scope, execution.view.id)
    assert run is not None
    return run


def driver(person: Person, run: Run) -> RunExecution:
    return RunExecution(RunView(run), person.scope, [], time.monotonic() + 60, streams=False, ports=LIVE_PORTS)


async def end(execution: RunExecution, how: str) -> Run | None:
    """End or suspend the run in a transaction of its own, as the loop does."""
    turn = TurnView(1, 100, ["Two litres."])
    values = TurnValues.of(Answer("Two litres."), 100, 5, used("offline/demo", None, Usage()))
    async with LIVE_PORTS.step(execution) as step:
        if how == "finish":
            return await step.finish(END)
        if how == "commit_last_turn":
            return await step.commit_last_turn(turn, values, END)
        held: Any = SimpleNamespace(
            status="awaiting_approval",
            approval_status="pending",
            final=False,
            pending_questions=[],
            waits_for_child=False,
        )
        turn.calls = [held]
        return await step.suspend(turn, "")


@pytest.mark.parametrize(
    ("how", "event"),
    [("finish", "run.completed"), ("commit_last_turn", "run.completed"), ("suspend", "run.requires_action")],
)
async def test_of_a_driver_that_lost_its_run_and_the_one_that_took_it_over_one_publishes(
    tenant: Cast, receiver: Receiver, how: str, event: str
) -> None:
    await asyncio.to_thread(register, tenant, receiver, RUNS)
    run = await run_of(tenant.alice)
    late = driver(tenant.alice, run)
    async with transaction(tenant.alice.scope) as connection:
        taken = await repository.take_over(connection, run.id, 15)
    assert taken is not None
    assert await end(late, how) is None
    assert events(tenant) == []
    assert await end(driver(tenant.alice, taken.run), how) is not None
    assert await end(driver(tenant.alice, taken.run), how) is None
    assert await end(late, how) is None
    assert events(tenant) == [event]


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed", "cancelled"])
async def test_every_end_has_an_event_of_its_own_and_a_worker_is_asked_after_the_commit(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    asked: list[Message] = []

    async def ask(messages: Sequence[Message]) -> None:
        assert events(tenant) == [f"run.{status}"]
        asked.extend(messages)

    monkeypatch.setattr(notifications.messages, "send", ask)
    await asyncio.to_thread(register, tenant, receiver, RUNS)
    async with LIVE_PORTS.step(driver(tenant.alice, await run_of(tenant.alice))) as step:
        assert await step.finish(RunEnd(status, "Two litres.")) is not None
    assert asked == [("notifications.deliver", [str(tenant.id)])]
    await delivery.deliver(tenant.id)
    assert [(message["type"], message["data"]["status"]) for message in receiver.messages] == [
        (f"run.{status}", status)
    ]


async def test_an_end_that_is_rolled_back_is_not_published(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver, RUNS)
    execution = driver(tenant.alice, await run_of(tenant.alice))

    async def fail() -> None:
        async with LIVE_PORTS.step(execution) as step:
            assert await step.finish(END) is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert events(tenant) == []
    assert await end(execution, "finish") is not None
    assert events(tenant) == ["run.completed"]
