"""Who is told of approvals: over real sockets, with signatures that the receiver verifies."""

import asyncio
import base64
import logging
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from aiohttp import web
from django.conf import settings
from django.test import override_settings

from approvals import deliveries, notices, webhooks
from gateway.embedded.processes import wait_until
from tenants.scoping import transaction
from tests.approvals.receiver import HERE, Receiver, register
from tests.approvals.requests import held
from tests.database import rows
from tests.people import Cast, Person
from tests.smtp import MailServer
from tests.stack import Stack


async def serve(receiver: Receiver) -> web.AppRunner:
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    return runner


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    runner = await serve(receiver)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (HERE,)), PUBLIC_URL="https://gate.example"):
        yield receiver
    receiver.released.set()
    await runner.cleanup()


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server, override_settings(**server.settings, PUBLIC_URL="https://gate.example"):
        yield server


def address(*people: Person) -> None:
    for person in people:
        owner("UPDATE users SET email = username || '@example.com' WHERE id = %s", person.scope.user_id)


async def happen(person: Person, event: notices.Event = "requested", **more: Any) -> uuid.UUID:
    """An event to a fresh request of the person's, committed; the request's id."""
    request_id = await asyncio.to_thread(held, person, **more)
    async with transaction(person.scope) as connection:
        await notices.add(connection, {"id": request_id, "tenant_id": person.scope.tenant_id}, event)
    return request_id


def outbox(cast: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM approval_notices WHERE tenant_id = %(t)s ORDER BY created_at", t=cast.id)


def owner(statement: str, *values: object) -> None:
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as connection:
        connection.execute(statement.encode(), values)


def make_due(cast: Cast, ago: timedelta = timedelta()) -> None:
    """As if the pause, and `ago` before it, had passed."""
    owner("UPDATE approval_notices SET due_at = now(), created_at = created_at - %s WHERE tenant_id = %s", ago, cast.id)


# --- what is told ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("event", ["requested", "approved", "denied", "expired", "cancelled"])
async def test_a_webhook_is_told_of_each_event_and_can_verify_it(
    tenant: Cast, receiver: Receiver, event: notices.Event
) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    request_id = await happen(tenant.alice, event)
    await deliveries.deliver(tenant.id)
    [request] = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=request_id)
    [notice] = outbox(tenant)
    [message] = receiver.messages
    moment = message.pop("timestamp")
    assert moment.endswith("Z")
    data = message["data"]
    assert (data.pop("created_at")[:19], data.pop("expires_at")[:19]) == (
        request["created_at"].strftime("%Y-%m-%dT%H:%M:%S"),
        request["expires_at"].strftime("%Y-%m-%dT%H:%M:%S"),
    )
    assert message == {
        "type": f"approval.{event}",
        "data": {
            "id": str(request_id),
            "status": {"requested": "pending"}.get(event, event),
            "tool": "save_note",
            "tier": "elevated",
            "user": {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username},
            "run_id": str(request["run_id"]),
            "url": "https://gate.example/approvals/",
        },
    }
    assert (receiver.ids, receiver.forged) == ([str(notice["id"])], 0)
    assert (notice["status"], notice["attempts"], notice["problem"]) == ("delivered", 1, "")
    assert notice["finished_at"] is not None


def test_the_signature_is_the_specifications() -> None:
    # The example of the specification's own libraries.
    secret, message_id, timestamp = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    signature = webhooks.sign(secret, message_id, timestamp, b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert len(base64.b64decode(webhooks.new_secret().removeprefix("whsec_"))) == 32


async def test_who_may_decide_is_asked_by_email_and_never_who_asked(tenant: Cast, mail: MailServer) -> None:
    address(tenant.alice, tenant.bob, tenant.carol, tenant.dana, tenant.olga)
    request_id = await happen(tenant.alice)
    await deliveries.deliver(tenant.id)
    assert sorted(received.recipients for received in mail.received) == [
        [f"{person.username}@example.com"] for person in (tenant.carol, tenant.olga)
    ]
    message = mail.received[0].message
    assert message["Subject"] == f"Approval needed: save_note for {tenant.alice.username}"
    assert message["Auto-Submitted"] == "auto-generated"
    text = message.get_content()
    assert "https://gate.example/approvals/" in text
    assert not any(secret in text for secret in ("Milk", "Two litres", "Please save", str(request_id)))
    assert {notice["status"] for notice in outbox(tenant)} == {"delivered"}
    mail.received.clear()
    await happen(tenant.carol)
    await deliveries.deliver(tenant.id)
    assert [received.recipients for received in mail.received] == [[f"{tenant.olga.username}@example.com"]]


@pytest.mark.parametrize("event", ["approved", "denied", "expired", "cancelled"])
async def test_nobody_is_written_to_about_what_is_over(tenant: Cast, mail: MailServer, event: notices.Event) -> None:
    address(tenant.carol)
    await happen(tenant.alice, event)
    assert outbox(tenant) == []


async def test_where_nobody_wants_to_know_nothing_is_written_and_nobody_is_asked(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(notices.current_app, "send_task", lambda *args, **options: asked.append(options["args"]))
    request_id = await asyncio.to_thread(held, tenant.alice)
    async with transaction(tenant.alice.scope) as connection:
        added = await notices.add(connection, {"id": request_id, "tenant_id": tenant.id}, "requested")
    await notices.send(added)
    assert (outbox(tenant), asked) == ([], [])
    address(tenant.carol)
    async with transaction(tenant.alice.scope) as connection:
        row = {"id": request_id, "tenant_id": tenant.id}
        more = [await notices.add(connection, row, "requested") for _ in range(3)]
    await notices.send(added, *more)
    assert (len(outbox(tenant)), asked) == (3, [[str(tenant.id)]])


async def test_what_is_rolled_back_is_never_told(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    request_id = await asyncio.to_thread(held, tenant.alice)

    async def fail() -> None:
        async with transaction(tenant.alice.scope) as connection:
            await notices.add(connection, {"id": request_id, "tenant_id": tenant.id}, "requested")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await deliveries.deliver(tenant.id)
    assert (outbox(tenant), receiver.messages) == ([], [])


async def test_another_tenant_is_never_told(
    tenant: Cast, other_tenant: Cast, receiver: Receiver, mail: MailServer
) -> None:
    await asyncio.to_thread(register, other_tenant, receiver)
    address(other_tenant.carol)
    request_id = await happen(tenant.alice)

    async def tell(tenant_id: uuid.UUID) -> None:
        async with transaction(other_tenant.alice.scope) as connection:
            await notices.add(connection, {"id": request_id, "tenant_id": tenant_id}, "approved")

    # Nor when somebody of the other tenant names the request.
    await tell(tenant.id)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await tell(other_tenant.id)
    await deliveries.deliver(tenant.id)
    await deliveries.deliver(other_tenant.id)
    assert outbox(tenant) == outbox(other_tenant) == []
    assert (receiver.messages, receiver.forged, mail.received) == ([], 0, [])


# --- when it is not taken --------------------------------------------------------------------------------------------
async def test_a_receiver_that_fails_is_told_again_under_the_same_id(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [500, 302]
    await happen(tenant.alice)
    await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == ("waiting", "The endpoint answered HTTP 500.")
    assert 3 < (notice["due_at"] - notice["created_at"]).total_seconds() < 10
    await deliveries.deliver(tenant.id)
    assert len(receiver.messages) == 1
    for _ in range(2):
        make_due(tenant)
        await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["attempts"]) == ("delivered", 3)
    assert receiver.ids == [str(notice["id"])] * 3
    first, *others = receiver.messages
    assert others == [first, first]


async def test_after_a_day_a_notice_is_given_up_with_its_reason(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [503, 503]
    await happen(tenant.alice)
    make_due(tenant, timedelta(hours=23))
    await deliveries.deliver(tenant.id)
    assert outbox(tenant)[0]["status"] == "waiting"
    make_due(tenant, timedelta(hours=1))
    await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == ("failed", "The endpoint answered HTTP 503.")


def test_the_pauses_grow_to_hours_and_last_about_a_day() -> None:
    total, attempts = timedelta(), 0
    while total < deliveries.GIVE_UP:
        attempts += 1
        previous, total = total, total + deliveries.pause(attempts)
    assert 9 <= attempts <= 12
    assert previous > timedelta(hours=16)
    assert timedelta(seconds=4) <= deliveries.pause(1) <= timedelta(seconds=6)
    assert deliveries.pause(1000) <= timedelta(hours=7.2)
    assert len({deliveries.pause(1) for _ in range(10)}) > 1


async def test_an_endpoint_that_is_gone_is_switched_off(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [410]
    await happen(tenant.alice)
    await happen(tenant.bob)
    await deliveries.deliver(tenant.id)
    [endpoint] = rows("SELECT * FROM webhook_endpoints WHERE tenant_id = %(t)s", t=tenant.id)
    assert not endpoint["enabled"]
    assert endpoint["disabled_because"] == "The endpoint answered HTTP 410: it wants no more messages."
    assert "failed" in {notice["status"] for notice in outbox(tenant)}
    known = len(outbox(tenant))
    await happen(tenant.alice)
    assert len(outbox(tenant)) == known


async def test_what_waits_for_an_endpoint_that_was_switched_off_is_given_up(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    owner("UPDATE webhook_endpoints SET enabled = false WHERE tenant_id = %s", tenant.id)
    await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == ("failed", "The endpoint was switched off.")
    assert receiver.messages == []


async def test_a_receiver_that_hangs_costs_a_bounded_time_and_nobody_elses_notice(
    tenant: Cast, other_tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 1.0)
    hanging = Receiver()
    runner = await serve(hanging)
    hanging.answers = [hanging.hang] * 100
    for cast in (tenant, other_tenant):
        await asyncio.to_thread(register, cast, hanging)
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(3 * deliveries.AT_ONCE):
        await happen(tenant.alice)
    delivering = asyncio.create_task(deliveries.deliver(tenant.id))
    await hanging.reached.wait()
    # All of the other's are there while the first still hangs.
    while len(receiver.messages) < 3 * deliveries.AT_ONCE:
        receiver.reached.clear()
        await receiver.reached.wait()
    assert len(hanging.messages) == deliveries.AT_ONCE
    assert not delivering.done()
    await delivering
    told = {notice["problem"] for notice in outbox(tenant) if notice["status"] == "waiting"}
    assert told == {"It did not answer in time."}
    assert deliveries._under_way == {}
    await runner.cleanup()


async def test_a_redirect_to_a_private_address_is_not_followed(tenant: Cast, receiver: Receiver) -> None:
    inside = Receiver()
    runner = await serve(inside)
    await asyncio.to_thread(register, tenant, receiver)

    async def inward(request: web.Request) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect(inside.url)

    receiver.answers = [inward]
    await happen(tenant.alice)
    await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == ("waiting", "The endpoint answered HTTP 307.")
    assert (inside.messages, inside.forged) == ([], 0)
    await runner.cleanup()


async def test_a_private_endpoint_is_not_reached(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), ())):
        await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == ("waiting", "The URL's host is not a public address.")
    assert (receiver.messages, receiver.forged) == ([], 0)


async def test_a_secret_under_a_lost_key_is_said_and_nothing_is_sent(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    with override_settings(TOOLGATE_ENCRYPTION_KEYS=["0" * 64]):
        await deliveries.deliver(tenant.id)
    assert outbox(tenant)[0]["problem"] == ("The endpoint's secret cannot be decrypted with TOOLGATE_ENCRYPTION_KEYS.")
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
    await deliveries.deliver(tenant.id)
    [notice] = outbox(tenant)
    assert (notice["status"], notice["problem"]) == (status, problem)


async def test_nobody_is_asked_who_decides_no_longer_or_when_it_is_decided(tenant: Cast, mail: MailServer) -> None:
    address(tenant.carol, tenant.olga)
    waiting, decided = await happen(tenant.alice), await happen(tenant.bob)
    owner("UPDATE memberships SET role = 'member' WHERE user_id = %s", tenant.carol.scope.user_id)
    owner("UPDATE approval_requests SET status = 'denied', decided_at = now() WHERE id = %s", decided)
    await deliveries.deliver(tenant.id)
    problems = {(notice["user_id"], notice["request_id"]): notice["problem"] for notice in outbox(tenant)}
    carol, olga = tenant.carol.scope.user_id, tenant.olga.scope.user_id
    assert problems == {
        (carol, waiting): "The person decides no longer, or has no address.",
        (carol, decided): "The person decides no longer, or has no address.",
        (olga, waiting): "",
        (olga, decided): "The request was over before it could be sent.",
    }
    assert [received.recipients for received in mail.received] == [[f"{tenant.olga.username}@example.com"]]
    # Who leaves takes their notices along.
    owner("DELETE FROM memberships WHERE user_id = %s", olga)
    assert {notice["user_id"] for notice in outbox(tenant)} == {carol}


# --- claims ----------------------------------------------------------------------------------------------------------
async def test_workers_at_once_tell_each_notice_once(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(30):
        await happen(tenant.alice)
    await asyncio.gather(*(deliveries.deliver(tenant.id) for _ in range(5)))
    assert len(receiver.ids) == len(set(receiver.ids)) == 30
    assert {(notice["status"], notice["attempts"]) for notice in outbox(tenant)} == {("delivered", 1)}


async def test_the_notice_of_a_lost_worker_is_due_again_and_a_late_one_changes_nothing(
    tenant: Cast, receiver: Receiver
) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    [late] = await deliveries._claim(tenant.id)
    assert await deliveries._claim(tenant.id) == []
    make_due(tenant)
    await deliveries.deliver(tenant.id)
    before = outbox(tenant)
    assert (before[0]["status"], before[0]["attempts"]) == ("delivered", 2)
    await deliveries._settle(late, deliveries.Undelivered("too late"))
    assert outbox(tenant) == before
    deliveries._under_way.clear()


async def test_the_sweeper_finds_what_no_message_told_of(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(notices.current_app, "send_task", lambda task, args, **options: asked.extend(args))
    await asyncio.to_thread(register, tenant, receiver)
    await happen(tenant.alice)
    await notices.send_due()
    assert str(tenant.id) not in asked
    owner("UPDATE approval_notices SET due_at = now() - interval '3 s' WHERE tenant_id = %s", tenant.id)
    asked.clear()
    assert await notices.send_due() == len(asked)
    assert str(tenant.id) in asked
    await deliveries.deliver(tenant.id)
    asked.clear()
    await notices.send_due()
    assert str(tenant.id) not in asked


async def test_a_worker_delivers_what_it_is_asked_for_after_the_commit(stack: Stack, tenant: Cast) -> None:
    address(tenant.carol)
    request_id = await asyncio.to_thread(held, tenant.alice)
    async with transaction(tenant.alice.scope) as connection:
        added = await notices.add(connection, {"id": request_id, "tenant_id": tenant.id}, "requested")
    await notices.send(added)
    delivered = await asyncio.to_thread(wait_until, lambda: outbox(tenant)[0]["status"] == "delivered", 30)
    assert delivered, outbox(tenant)
    mailbox = "".join(file.read_text() for file in Path(settings.EMAIL_FILE_PATH).iterdir())
    assert f"To: {tenant.carol.username}@example.com" in mailbox
    assert f"Message-ID: <{outbox(tenant)[0]['id']}@localhost>" in mailbox


async def test_a_broker_that_is_away_costs_nobody_anything(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object, **options: object) -> None:
        raise OSError

    monkeypatch.setattr(notices.current_app, "send_task", away)
    await asyncio.to_thread(register, tenant, receiver)
    request_id = await asyncio.to_thread(held, tenant.alice)
    async with transaction(tenant.alice.scope) as connection:
        added = await notices.add(connection, {"id": request_id, "tenant_id": tenant.id}, "requested")
    await notices.send(added)
    assert [notice["status"] for notice in outbox(tenant)] == ["waiting"]


async def test_what_was_over_a_month_ago_is_forgotten(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver)
    for _ in range(2):
        await happen(tenant.alice)
        await deliveries.deliver(tenant.id)
    await happen(tenant.alice)
    oldest = outbox(tenant)[0]["id"]
    owner("UPDATE approval_notices SET finished_at = now() - interval '31 days' WHERE id = %s", oldest)
    await notices.forget_old()
    assert [notice["status"] for notice in outbox(tenant)] == ["delivered", "waiting"]


# --- secrets ---------------------------------------------------------------------------------------------------------
async def test_no_secret_is_logged_or_kept_in_the_clear(
    tenant: Cast, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await asyncio.to_thread(register, tenant, receiver)
    receiver.answers = [500, 410]
    await happen(tenant.alice)
    await deliveries.deliver(tenant.id)
    make_due(tenant)
    await deliveries.deliver(tenant.id)
    assert "notice not delivered" in caplog.text
    key = receiver.secret.removeprefix("whsec_")
    assert not any(secret in caplog.text for secret in (key, "very-secret-path", "Two litres"))
    kept = rows("SELECT to_jsonb(e)::text AS whole FROM webhook_endpoints e WHERE tenant_id = %(t)s", t=tenant.id)
    kept += rows("SELECT to_jsonb(n)::text AS whole FROM approval_notices n WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(kept) == 2
    assert not any(key in row["whole"] for row in kept)
