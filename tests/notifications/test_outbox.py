"""Who gets which events of approvals: over real sockets, with signatures that the receiver verifies."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from django.conf import settings

from approvals import events
from approvals.events import Change
from notifications import delivery
from notifications import outbox as notifications
from notifications.channels.webhook import signature
from tenants.scope.transactions import transaction
from tests.approvals.requests import held
from tests.database import rows
from tests.notifications.outbox import address, happen, outbox, owner, publish, request_of
from tests.notifications.receiver import Receiver, register
from tests.people import Cast
from tests.smtp import MailServer
from tests.stack import Stack
from tests.waiting import eventually
from tools.network.messages import Message


def sending(asked: list[str]) -> Callable[[Sequence[Message]], Awaitable[None]]:
    """A broker that notes which tenants deliveries are asked for."""

    async def send(messages: Sequence[Message]) -> None:
        for task, arguments in messages:
            assert task == "notifications.deliver"
            asked.extend(arguments)

    return send


@pytest.mark.parametrize("change", ["requested", "approved", "denied", "expired", "cancelled"])
async def test_a_webhook_gets_each_event_of_an_approval_and_can_verify_it(
    tenant: Cast, receiver: Receiver, change: Change
) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    request_id = await happen(tenant.alice, change)
    await delivery.deliver(tenant.id)
    [request] = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=request_id)
    [row] = outbox(tenant)
    [message] = receiver.messages
    moment = message.pop("timestamp")
    assert moment.endswith("Z")
    data = message["data"]
    assert (data.pop("created_at")[:19], data.pop("expires_at")[:19]) == (
        request["created_at"].strftime("%Y-%m-%dT%H:%M:%S"),
        request["expires_at"].strftime("%Y-%m-%dT%H:%M:%S"),
    )
    assert message == {
        "type": f"approval.{change}",
        "data": {
            "id": str(request_id),
            "status": {"requested": "pending"}.get(change, change),
            "tool": "save_note",
            "tier": "elevated",
            "user": {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username},
            "run_id": str(request["run_id"]),
            "url": f"https://gate.example/approvals/{request_id}/",
        },
    }
    assert (receiver.ids, receiver.forged) == ([str(row["id"])], 0)
    assert (row["status"], row["attempts"], row["problem"]) == ("delivered", 1, "")
    assert row["finished_at"] is not None


def test_the_signature_is_the_specifications() -> None:
    # The example of the specification's own libraries.
    secret, message_id, timestamp = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    signed = signature.sign(secret, message_id, timestamp, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert len(base64.b64decode(signature.new_secret().removeprefix("whsec_"))) == 32


async def test_who_may_decide_is_asked_by_email_and_never_who_asked(tenant: Cast, mail: MailServer) -> None:
    address(tenant.alice, tenant.bob, tenant.carol, tenant.dana, tenant.olga)
    request_id = await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    assert sorted(received.recipients for received in mail.received) == [
        [f"{person.username}@example.com"] for person in (tenant.carol, tenant.olga)
    ]
    message = mail.received[0].message
    assert message["Subject"] == f"Approval needed: save_note for {tenant.alice.username}"
    assert message["Auto-Submitted"] == "auto-generated"
    text = message.get_content()
    assert f"https://gate.example/approvals/{request_id}/" in text.splitlines()[2]
    assert not any(secret in text for secret in ("Milk", "Two litres", "Please save"))
    assert {row["status"] for row in outbox(tenant)} == {"delivered"}
    mail.received.clear()
    await happen(tenant.carol)
    await delivery.deliver(tenant.id)
    assert [received.recipients for received in mail.received] == [[f"{tenant.olga.username}@example.com"]]


@pytest.mark.parametrize("change", ["approved", "denied", "expired", "cancelled"])
async def test_nobody_is_written_to_about_what_is_over(tenant: Cast, mail: MailServer, change: Change) -> None:
    address(tenant.carol)
    await happen(tenant.alice, change)
    assert outbox(tenant) == []


async def test_where_nobody_wants_to_know_nothing_is_written_and_nobody_is_asked(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(notifications.messages, "send", sending(asked))
    request_id = await asyncio.to_thread(held, tenant.alice)
    changed = await publish(tenant.alice, request_id)
    await notifications.send(*changed.written)
    assert (outbox(tenant), asked) == ([], [])
    address(tenant.carol)
    more = [written for _ in range(3) for written in (await publish(tenant.alice, request_id)).written]
    await notifications.send(*changed.written, *more)
    assert (len(outbox(tenant)), asked) == (3, [str(tenant.id)])


async def test_what_is_rolled_back_is_never_written(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    request = request_of(await asyncio.to_thread(held, tenant.alice))

    async def fail() -> None:
        async with transaction(tenant.alice.scope) as connection:
            await events.write(connection, [request], "requested")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await delivery.deliver(tenant.id)
    assert (outbox(tenant), receiver.messages) == ([], [])


async def test_another_tenant_never_gets_an_event(
    tenant: Cast, other_tenant: Cast, receiver: Receiver, mail: MailServer
) -> None:
    await asyncio.to_thread(register, other_tenant, receiver)
    address(other_tenant.carol)
    request_id = await happen(tenant.alice)

    # Nor when somebody of the other tenant names the request: the rows of this one are out of their reach.
    await publish(other_tenant.alice, request_id, "approved")
    await delivery.deliver(tenant.id)
    await delivery.deliver(other_tenant.id)
    assert outbox(tenant) == outbox(other_tenant) == []
    assert (receiver.messages, receiver.forged, mail.received) == ([], 0, [])


# --- how it is found -------------------------------------------------------------------------------------------------
async def test_the_sweeper_finds_what_no_worker_was_asked_for(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(notifications.messages, "send", sending(asked))
    # Longer than a slow machine takes for what comes before.
    monkeypatch.setattr(notifications, "OVERDUE_SECONDS", 3600)
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    await notifications.send_due()
    assert str(tenant.id) not in asked
    owner("UPDATE notifications SET due_at = now() - interval '3601 s' WHERE tenant_id = %s", tenant.id)
    asked.clear()
    assert await notifications.send_due() == len(asked)
    assert str(tenant.id) in asked
    await delivery.deliver(tenant.id)
    asked.clear()
    await notifications.send_due()
    assert str(tenant.id) not in asked


async def test_a_worker_delivers_what_it_is_asked_for_after_the_commit(stack: Stack, tenant: Cast) -> None:
    address(tenant.carol)
    request_id = await asyncio.to_thread(held, tenant.alice)
    changed = await publish(tenant.alice, request_id)
    await notifications.send(*changed.written)
    await eventually(lambda: outbox(tenant)[0]["status"] == "delivered")
    mailbox = "".join(file.read_text() for file in Path(settings.EMAIL_FILE_PATH).iterdir())
    assert f"To: {tenant.carol.username}@example.com" in mailbox
    assert f"Message-ID: <{outbox(tenant)[0]['id']}@localhost>" in mailbox


async def test_a_broker_that_is_away_costs_nobody_anything(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(messages: object) -> None:
        raise OSError

    monkeypatch.setattr(notifications.messages, "send", away)
    await asyncio.to_thread(register, tenant, receiver)
    request_id = await asyncio.to_thread(held, tenant.alice)
    changed = await publish(tenant.alice, request_id)
    await notifications.send(*changed.written)
    assert [row["status"] for row in outbox(tenant)] == ["waiting"]


async def test_what_was_over_a_month_ago_is_forgotten(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(2):
        await happen(tenant.alice)
        await delivery.deliver(tenant.id)
    await happen(tenant.alice)
    oldest = outbox(tenant)[0]["id"]
    owner("UPDATE notifications SET finished_at = now() - interval '31 days' WHERE id = %s", oldest)
    await notifications.forget_old()
    assert [row["status"] for row in outbox(tenant)] == ["delivered", "waiting"]
