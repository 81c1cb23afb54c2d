"""Which target gets what, and how a message looks on each channel, the one of a stranger included."""

import asyncio
import logging
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from approvals import events as approval_events
from approvals.questions import events as question_events
from approvals.rows import ApprovalRequest, AskedQuestion
from gateway.runs import publisher
from notifications import delivery, events
from notifications.channels import registry
from notifications.channels.interface import Accepted, Channel, Message
from notifications.channels.slack import words as slack_words
from notifications.errors import InvalidTarget
from notifications.events import EventType, Words
from tests.approvals.admin import operator
from tests.browser.sessions import session_of
from tests.database import rows
from tests.notifications.outbox import address, happen, make_due, outbox, owner
from tests.notifications.receiver import APPROVALS, Receiver, make_target, register
from tests.people import Cast
from tests.smtp import MailServer

PATH = "/services/T0/B0/very-secret-token"


def slack(tenant: Cast, receiver: Receiver, wanted: list[str], path: str = PATH, **more: Any) -> None:
    make_target(tenant, "slack", "127.0.0.1", f"http://127.0.0.1:{receiver.port}{path}", wanted, **more)


# --- who gets what ---------------------------------------------------------------------------------------------------
async def test_a_target_gets_the_events_that_were_chosen_for_it_and_no_others(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(register, tenant, receiver, ["approval.denied"])
    await asyncio.to_thread(slack, tenant, receiver, ["approval.requested", "approval.denied"])
    await asyncio.to_thread(slack, tenant, receiver, APPROVALS, "/services/off", enabled=False)
    for change in ("requested", "approved", "denied"):
        await happen(tenant.alice, change)  # type: ignore[arg-type]
    await delivery.deliver(tenant.id)
    assert [message["type"] for message in receiver.messages] == ["approval.denied"]
    assert sorted((path, body["text"].split(":")[0]) for path, body in receiver.unsigned) == [
        (PATH, "*Approval denied"),
        (PATH, "*Approval needed"),
    ]
    assert {row["status"] for row in outbox(tenant)} == {"delivered"}


async def test_a_target_of_another_tenant_gets_nothing(tenant: Cast, other_tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(slack, other_tenant, receiver, APPROVALS)
    await asyncio.to_thread(slack, tenant, receiver, APPROVALS, "/services/own")
    await happen(tenant.alice)
    await delivery.deliver(other_tenant.id)
    await delivery.deliver(tenant.id)
    assert [path for path, _ in receiver.unsigned] == ["/services/own"]
    assert outbox(other_tenant) == []


async def test_a_tenant_switches_the_email_to_deciders_off(tenant: Cast, mail: MailServer) -> None:
    address(tenant.carol, tenant.olga)
    await happen(tenant.alice)
    waiting = outbox(tenant)
    assert len(waiting) == 2
    await asyncio.to_thread(make_target, tenant, "email", "deciders", enabled=False)
    await happen(tenant.alice)
    assert outbox(tenant) == waiting
    # What was written before is given up.
    await delivery.deliver(tenant.id)
    assert {(row["status"], row["problem"]) for row in outbox(tenant)} == {("failed", "The target was switched off.")}
    assert mail.received == []


async def test_email_goes_to_deciders_requester_and_addresses_as_chosen(tenant: Cast, mail: MailServer) -> None:
    address(tenant.alice, tenant.bob, tenant.carol, tenant.olga)
    for destination, wanted in (
        ("deciders", ["approval.denied"]),
        ("requester", ["approval.approved"]),
        ("team@example.com", ["approval.requested", "approval.approved"]),
    ):
        await asyncio.to_thread(make_target, tenant, "email", destination, "", wanted)
    for change in ("requested", "approved", "denied"):
        await happen(tenant.carol, change)  # type: ignore[arg-type]
    await delivery.deliver(tenant.id)
    sent = sorted(
        (received.recipients[0], str(received.message["Subject"]).split(":")[0]) for received in mail.received
    )
    assert sent == [
        (f"{tenant.carol.username}@example.com", "Approval approved"),
        (f"{tenant.olga.username}@example.com", "Approval denied"),
        ("team@example.com", "Approval approved"),
        ("team@example.com", "Approval needed"),
    ]


# --- Slack -----------------------------------------------------------------------------------------------------------
async def test_slack_gets_a_text_and_a_link_and_no_arguments(tenant: Cast, receiver: Receiver) -> None:
    await asyncio.to_thread(slack, tenant, receiver, APPROVALS)
    request_id = await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [request] = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=request_id)
    [(path, body)] = receiver.unsigned
    name = tenant.alice.username
    assert (path, list(body)) == (PATH, ["text"])
    assert body["text"].splitlines() == [
        f"*Approval needed: save_note for {name}*",
        f"{name} asks for a call of save_note (elevated), which needs a human's approval.",
        f"<https://gate.example/approvals/{request_id}/|Decide here>",
        f"Without a decision it expires at {request['expires_at']:%Y-%m-%d %H:%M} UTC.",
    ]


def test_no_name_becomes_markup_in_slack() -> None:
    words = Words("{tool} & co", "{tool}\n{user}", "Open").about(
        {"tool": "<!channel>", "user": {"username": "a\u202eb <http://evil.example|x>"}}
    )
    assert slack_words.text(words, "https://gate.example/?a=1&b=2") == (
        "*&lt;!channel&gt; &amp; co*\n&lt;!channel&gt;\na b &lt;http://evil.example|x&gt;\n"
        "<https://gate.example/?a=1&amp;b=2|Open>"
    )


async def answering(status: int, text: str) -> Any:
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    return answer


@pytest.mark.parametrize(
    ("status", "text", "gone", "problem"),
    [
        (500, "server_error", False, "Slack answered HTTP 500 (server_error)."),
        (400, "invalid_payload <b>", False, "Slack answered HTTP 400."),
        (404, "no_service", True, "Slack answered HTTP 404 (no_service): the webhook takes no more messages."),
        (410, "channel_is_archived", True,
         "Slack answered HTTP 410 (channel_is_archived): the webhook takes no more messages."),
        (404, "<html>", False, "Slack answered HTTP 404."),
    ],
)  # fmt: skip
async def test_what_slack_refuses_is_tried_again_unless_its_webhook_is_gone(
    tenant: Cast, receiver: Receiver, status: int, text: str, gone: bool, problem: str
) -> None:
    await asyncio.to_thread(slack, tenant, receiver, APPROVALS)
    receiver.answers = [await answering(status, text)]
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("failed" if gone else "waiting", problem)
    [target] = rows("SELECT * FROM notification_targets WHERE tenant_id = %(t)s", t=tenant.id)
    assert (target["enabled"], target["disabled_because"]) == (not gone, problem if gone else "")


async def test_slacks_url_is_neither_logged_nor_stored_in_the_clear(
    tenant: Cast, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await asyncio.to_thread(slack, tenant, receiver, APPROVALS)
    receiver.answers = [500, 200]
    await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    make_due(tenant)
    await delivery.deliver(tenant.id)
    assert [path for path, _ in receiver.unsigned] == [PATH, PATH]
    assert "notification not delivered" in caplog.text
    stored = rows("SELECT to_jsonb(e)::text AS whole FROM notification_targets e WHERE tenant_id = %(t)s", t=tenant.id)
    stored += rows("SELECT to_jsonb(n)::text AS whole FROM notifications n WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(stored) == 2
    for text in (caplog.text, *(row["whole"] for row in stored)):
        assert "very-secret-token" not in text


# --- a channel of somebody else's ------------------------------------------------------------------------------------
class Pigeons:
    """A channel in a folder of its own, as far as the package can tell."""

    def __init__(self) -> None:
        self.flown: list[Message] = []

    async def deliver(self, message: Message) -> None:
        self.flown.append(message)

    @staticmethod
    def accept(typed: str) -> Accepted:
        if not typed.startswith("loft"):
            raise InvalidTarget("Pigeons fly to lofts.")
        return Accepted(typed, "seed")


@pytest.fixture
def pigeons(monkeypatch: pytest.MonkeyPatch) -> Pigeons:
    monkeypatch.setattr(registry, "_CHANNELS", dict(registry._CHANNELS))
    pigeons = Pigeons()
    registry.register(Channel("pigeon", "Carrier pigeon", "a loft.", pigeons.accept, pigeons.deliver))
    return pigeons


def test_a_registered_channel_is_offered_in_the_admin_and_validates_its_targets(tenant: Cast, pigeons: Pigeons) -> None:
    operator(tenant.olga)
    admin = Client()
    admin.cookies["sessionid"] = session_of(tenant.olga)
    path = "/admin/notifications/notificationtarget/add/"
    page = admin.get(path).content.decode()
    assert '<option value="pigeon">Carrier pigeon</option>' in page
    assert "Carrier pigeon: a loft." in page
    form = {"tenant": str(tenant.id), "channel": "pigeon", "events": ["run.completed"], "enabled": "on"}
    refused = admin.post(path, form | {"destination": "nest 1"})
    assert "Pigeons fly to lofts." in refused.content.decode()
    assert admin.post(path, form | {"destination": "loft 4"}).status_code == 302
    [target] = rows("SELECT * FROM notification_targets WHERE tenant_id = %(t)s", t=tenant.id)
    assert (target["channel"], target["destination"], target["events"]) == ("pigeon", "loft 4", ["run.completed"])
    assert target["secret"] not in ("", "seed")


async def test_a_registered_channel_delivers(tenant: Cast, pigeons: Pigeons) -> None:
    await asyncio.to_thread(make_target, tenant, "pigeon", "loft 4", "seed")
    request_id = await happen(tenant.alice)
    await delivery.deliver(tenant.id)
    [message] = pigeons.flown
    [row] = outbox(tenant)
    assert row["status"] == "delivered"
    assert (message.id, message.event, message.destination, message.secret) == (
        *(row["id"], "approval.requested", "loft 4", "seed"),
    )
    assert message.payload["id"] == str(request_id)
    assert message.words.headline == f"Approval needed: save_note for {tenant.alice.username}"


async def test_a_channel_that_is_not_installed_any_more_is_said_and_tried_again(
    tenant: Cast, pigeons: Pigeons, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(make_target, tenant, "pigeon", "loft 4", "seed")
    await happen(tenant.alice)
    with monkeypatch.context() as without:
        without.setattr(registry, "_CHANNELS", {})
        await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"]) == ("waiting", "This installation has no channel called pigeon.")
    make_due(tenant)
    await delivery.deliver(tenant.id)
    assert len(pigeons.flown) == 1


def test_two_channels_or_two_types_of_events_never_share_a_name(pigeons: Pigeons) -> None:
    with pytest.raises(ValueError, match="two channels are called pigeon"):
        registry.register(Channel("pigeon", "Another", "", pigeons.accept, pigeons.deliver))
    with pytest.raises(ValueError, match=r"two types of events are called run\.failed"):
        events.declare(EventType("run.failed", "another", Words("", "", "")))


# --- words -----------------------------------------------------------------------------------------------------------
def test_every_declared_event_has_words_about_its_payload() -> None:
    now, [one, two, three, four] = datetime.now(UTC), [uuid.uuid4() for _ in range(4)]
    request = ApprovalRequest(
        id=one, tenant_id=two, user_id=three, call_id=four, run_id=None, conversation_id=None, agent="",
        tool_name="t", tier="elevated", why="", context=[], schema_hash="", params_hash="", approvals_needed=1,
        created_at=now, expires_at=now,
    )  # fmt: skip
    names = []
    for change in approval_events._TYPES:
        event = approval_events._event(request, change)
        names.append(event.type.name)
        assert events.words_of(event.type.name, event.payload).headline
    question = AskedQuestion(
        id=one, tenant_id=two, user_id=three, call_id=four, run_id=None, conversation_id=None, tool_name="t",
        binding="", round=1, position=0, key="k", message="Who are you?", schema=None, url="https://example.com/",
        request=None, question_hash="", state=None, created_at=now, expires_at=now,
    )  # fmt: skip
    event = question_events._event(question)
    names.append(event.type.name)
    said = events.words_of(event.type.name, event.payload)
    assert said.headline and "Who are you?" not in f"{said} {event.payload}"
    for each in publisher.TYPES.values():
        names.append(each.name)
        assert events.words_of(each.name, {"agent": "a", "model": "m", "user": {"username": None}}) == Words(
            headline=f"Run {each.name.removeprefix('run.').replace('_', ' ')}: a for Somebody who has left",
            text=each.words.text.format(user="Somebody who has left", agent="a", model="m"),
            link="See the run",
        )
    assert sorted(names) == [each.name for each in events.declared()]
    assert events.words_of("gone.forever", {}) == Words("gone.forever", "gone.forever", "Open")


async def test_a_failure_that_nobody_foresaw_is_tried_again(
    tenant: Cast, pigeons: Pigeons, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(make_target, tenant, "pigeon", "loft 4", "seed")
    await happen(tenant.alice)
    owner("UPDATE notifications SET payload = '[]' WHERE tenant_id = %s", tenant.id)
    await delivery.deliver(tenant.id)
    [row] = outbox(tenant)
    assert (row["status"], row["problem"], pigeons.flown) == ("waiting", "It could not be made.", [])
