"""What becomes of notifications whose receivers fail, hang, lie or are gone."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from django.test import override_settings

from notifications import delivery
from notifications.channels.webhook import delivery as webhook
from tests.database import rows
from tests.notifications.outbox import address, happen, make_due, outbox, owner, publish, serve
from tests.notifications.receiver import Receiver, register
from tests.people import Cast
from tests.smtp import MailServer
from tests.waiting import PATIENCE_SECONDS


async def test_a_receiver_that_fails_is_told_again_under_the_same_id(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [500, 302]
    await happen(tenant.alice)
    began = datetime.now(UTC)
    await delivery.deliver(tenant.id)
    ended = datetime.now(UTC)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("waiting", "The endpoint answered HTTP 500.")
    assert began + timedelta(seconds=4) <= row["due_at"] <= ended + timedelta(seconds=6)
    # Before that time, which no slow machine lets come within the test.
    owner("UPDATE notifications SET due_at = due_at + interval '1 h' WHERE tenant_id = %s", tenant.id)
    await delivery.deliver(tenant.id)
    assert len(receiver.messages) == 1
    for _ in range(2):
        make_due(tenant)
        await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["attempts"]) == ("delivered", 3)
    assert receiver.ids == [str(row["id"])] * 3
    first, *others = receiver.messages
    assert others == [first, first]


async def test_after_a_day_a_notification_is_given_up_with_its_reason(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [503, 503]
    await happen(tenant.alice)
    make_due(tenant, timedelta(hours=23))
    await delivery.deliver(tenant.id)
    assert outbox(tenant)[0]["status"] == "waiting"
    make_due(tenant, timedelta(hours=1))
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("failed", "The endpoint answered HTTP 503.")


def test_the_pauses_grow_to_hours_and_last_about_a_day() -> None:
    total, attempts = timedelta(), 0
    while total < delivery.GIVE_UP:
        attempts += 1
        previous, total = total, total + delivery.pause(attempts)
    assert 9 <= attempts <= 12
    assert previous > timedelta(hours=16)
    assert timedelta(seconds=4) <= delivery.pause(1) <= timedelta(seconds=6)
    assert delivery.pause(1000) <= timedelta(hours=7.2)
    assert len({delivery.pause(1) for _ in range(10)}) > 1


async def test_an_endpoint_that_is_gone_is_switched_off(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [410]
    await happen(tenant.alice)
    await happen(tenant.bob)
    await delivery.deliver(tenant.id)
    [endpoint] = rows("SELECT * FROM notification_targets WHERE tenant_id = %(t)s", t=tenant.id)
    assert not endpoint["enabled"]
    assert endpoint["disabled_because"] == "The endpoint answered HTTP 410: it wants no more messages."
    assert "failed" in {row["status"] for row in outbox(tenant)}
    known = len(outbox(tenant))
    await happen(tenant.alice)
    assert len(outbox(tenant)) == known


async def test_what_waits_for_an_endpoint_that_was_switched_off_is_given_up(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    owner("UPDATE notification_targets SET enabled = false WHERE tenant_id = %s", tenant.id)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("failed", "The target was switched off.")
    assert receiver.messages == []


async def test_a_receiver_that_hangs_is_waited_for_so_long_and_no_longer(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 0.5)
    receiver.answers = [receiver.hang]
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("waiting", "It did not answer in time.")
    assert delivery._under_way == {}


async def test_a_receiver_that_hangs_holds_up_nobody_elses_notifications(
    tenant: Cast, other_tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "SECONDS", PATIENCE_SECONDS)
    hanging = Receiver()
    runner = await serve(hanging)
    hanging.answers = [hanging.hang] * 100
    for cast in (tenant, other_tenant):
        await asyncio.to_thread(register, cast, hanging)
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(3 * delivery.AT_ONCE):
        await happen(tenant.alice)
    delivering = asyncio.create_task(delivery.deliver(tenant.id))
    await hanging.received(delivery.AT_ONCE)
    # All of the other's are there while the first still hangs.
    await receiver.received(3 * delivery.AT_ONCE)
    assert len(hanging.messages) == delivery.AT_ONCE
    assert not delivering.done()
    hanging.released.set()
    await delivering
    assert {row["status"] for row in outbox(tenant)} == {"delivered"}
    assert len(hanging.messages) == 3 * delivery.AT_ONCE
    assert delivery._under_way == {}
    await runner.cleanup()


async def test_a_redirect_to_a_private_address_is_not_followed(tenant: Cast, receiver: Receiver) -> None:
    inside = Receiver()
    runner = await serve(inside)
    await asyncio.to_thread(register, tenant, receiver)

    async def inward(request: web.Request) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect(inside.url)

    receiver.answers = [inward]
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("waiting", "The endpoint answered HTTP 307.")
    assert (inside.messages, inside.forged) == ([], 0)
    await runner.cleanup()


async def test_a_private_endpoint_is_not_reached(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), ())):
        await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("waiting", "The URL's host is not a public address.")
    assert (receiver.messages, receiver.forged) == ([], 0)


async def test_a_secret_under_a_lost_key_is_said_and_nothing_is_sent(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=["0" * 64]):
        await delivery.deliver(tenant.id)
    assert outbox(tenant)[0]["problem"] == ("The target's secret cannot be decrypted with TOOLGATE_ENCRYPTION_KEYS.")
    assert (receiver.messages, receiver.forged) == ([], 0)


@pytest.mark.parametrize(
    ("verb", "said", "status", "problem"),
    [
        (
            "RCPT",
            "550 no",
            "failed",
            "The mail server does not take the recipient (SMTP 550); the e-mail was not sent.",
        ),
        (".", "451 later", "waiting", "The mail server refused the e-mail (SMTP 451); the e-mail was not sent."),
    ],
)
async def test_an_email_that_is_refused_is_tried_again_unless_that_is_no_use(
    tenant: Cast, mail: MailServer, verb: str, said: str, status: str, problem: str
) -> None:
    address(tenant.carol)
    mail.refuse[verb] = said
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == (status, problem)


async def test_nobody_is_asked_who_decides_no_longer_or_when_it_is_decided(tenant: Cast, mail: MailServer) -> None:
    address(tenant.carol, tenant.olga)
    waiting, decided = await happen(tenant.alice), await happen(tenant.bob)
    owner("UPDATE memberships SET role = 'member' WHERE user_id = %s", tenant.carol.scope.user_id)
    await publish(tenant.bob, decided, "denied")
    await delivery.deliver(tenant.id)
    problems = {(row["recipient_id"], row["subject_id"]): row["problem"] for row in outbox(tenant)}
    carol, olga = tenant.carol.scope.user_id, tenant.olga.scope.user_id
    assert problems == {
        (carol, waiting): "The person decides no longer, or has no address.",
        (carol, decided): "The request was over before it could be sent.",
        (olga, waiting): "",
        (olga, decided): "The request was over before it could be sent.",
    }
    assert [received.recipients for received in mail.received] == [[f"{tenant.olga.username}@example.com"]]
    # With the membership goes what was for the member.
    owner("DELETE FROM memberships WHERE user_id = %s", olga)
    assert {row["recipient_id"] for row in outbox(tenant)} == {carol}


# --- claims ----------------------------------------------------------------------------------------------------------
async def test_workers_at_once_deliver_each_notification_once(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(30):
        await happen(tenant.alice)
    await asyncio.gather(*(delivery.deliver(tenant.id) for _ in range(5)))
    assert len(receiver.ids) == len(set(receiver.ids)) == 30
    assert {(row["status"], row["attempts"]) for row in outbox(tenant)} == {("delivered", 1)}


async def test_the_notification_of_a_lost_worker_is_due_again_and_a_late_one_changes_nothing(
    tenant: Cast, receiver: Receiver
) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    [late] = await delivery._claim(tenant.id)
    assert await delivery._claim(tenant.id) == []
    make_due(tenant)
    await delivery.deliver(tenant.id)
    before = outbox(tenant)
    assert (before[0]["status"], before[0]["attempts"]) == ("delivered", 2)
    await delivery._settle(late, delivery.Undelivered("too late"))
    assert outbox(tenant) == before
    delivery._under_way.clear()


# --- secrets ---------------------------------------------------------------------------------------------------------
async def test_no_secret_is_logged_or_kept_in_the_clear(
    tenant: Cast, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [500, 410]
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    make_due(tenant)
    await delivery.deliver(tenant.id)
    assert "notification not delivered" in caplog.text
    key = receiver.secret.removeprefix("whsec_")
    assert not any(secret in caplog.text for secret in (key, "very-secret-path", "Two litres"))
    kept = rows("SELECT to_jsonb(e)::text AS whole FROM notification_targets e WHERE tenant_id = %(t)s", t=tenant.id)
    kept += rows("SELECT to_jsonb(n)::text AS whole FROM notifications n WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(kept) == 2
    assert not any(key in row["whole"] for row in kept)
