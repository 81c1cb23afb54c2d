"""The tool `message`: into the inbox, to verified destinations, and to addresses that a human has agreed to."""

import asyncio
import json
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from gateway.runs.conversations import erasure
from notifications import delivery
from notifications.destinations import changes, sending
from tenants.people.changes import acting
from tenants.people.encryption import decrypt
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.inbox.inbox import ask, inbox_of
from tests.inbox.messages import make, send, sent_by, slack_of, verified
from tests.notifications.outbox import make_due, outbox, owner
from tests.notifications.receiver import Receiver
from tests.pages import call_rows
from tests.pages.browsing import signed_in
from tests.people import Cast, Person
from tests.smtp import MailServer
from tools.builtin.messages.message import Message
from tools.errors import ToolPermissionDenied, ToolValidationError
from tools.interface import CallFacts, Tier
from tools.labels import Label


def test_the_tier_goes_by_whom_a_message_is_for() -> None:
    tier, facts = Message().tier_of, CallFacts(destinations=frozenset({"team room", "alice@example.com"}))
    for to in ("inbox", " INBOX "):
        assert tier({"to": to, "text": ""}, facts) == Tier.WORKSPACE
    for to in ("Team room", "TEAM  ROOM", "Alice@Example.com"):
        assert tier({"to": to, "text": ""}, facts) == Tier.SYSTEM
    for to in ("mallory@example.com", "team", "https://evil.example/x", "тeam room"):
        assert tier({"to": to, "text": ""}, facts) == Tier.ELEVATED
    assert tier({"to": "team room", "text": ""}, CallFacts()) is None


def test_only_a_message_into_the_inbox_stays_in_the_tenant() -> None:
    assert Message().labels_of({"to": "Inbox"}) == frozenset()
    assert Message().labels_of({"to": "team room"}) == {Label.LEAVES_TENANT}


async def test_a_message_to_the_inbox_is_there_with_its_call_and_once(tenant: Cast) -> None:
    call_id = uuid.uuid4()
    result = await send(tenant.alice, "inbox", "Report ready\nIt has two pages.", call_id=call_id)
    await send(tenant.alice, "inbox", "Report ready\nIt has two pages.", call_id=call_id)
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    assert (entry["kind"], entry["title"], entry["call_id"]) == ("message", "Report ready", call_id)
    assert entry["text"] == "Report ready\nIt has two pages."
    assert result.output == {
        "message_id": str(entry["id"]), "to": "inbox", "channel": "inbox", "status": "delivered"
    }  # fmt: skip
    assert outbox(tenant) == []


async def test_a_message_to_a_webhook_is_signed_and_its_delivery_is_seen(
    tenant: Cast, receiver: Receiver, asked: list[uuid.UUID]
) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "My system", "webhook", receiver.url)
    receiver.secret = decrypt(row.secret)
    owner("UPDATE destinations SET verified_at = now() WHERE id = %s", row.id)
    receiver.answers = [500]
    operation = {"type": "data", "data": {"order": 7}}
    call_id = uuid.uuid4()
    result = await send(tenant.alice, "my SYSTEM", "Order 7", operation=operation, call_id=call_id)
    await send(tenant.alice, "my SYSTEM", "Order 7", operation=operation, call_id=call_id)
    assert result.output["status"] == "queued" and result.output["to"] == "My system"
    assert asked == [tenant.id, tenant.id]
    await delivery.deliver(tenant.id)
    [sent] = sent_by(tenant.alice)
    assert (sent["status"], sent["problem"]) == ("waiting", "The endpoint answered HTTP 500.")
    make_due(tenant)
    await delivery.deliver(tenant.id)
    [sent] = sent_by(tenant.alice)
    assert (sent["status"], sent["problem"], sent["call_id"]) == ("delivered", "", call_id)
    [message] = receiver.messages[-1:]
    assert (message["type"], message["data"]["text"], message["data"]["data"]) == (
        "message.sent", "Order 7", {"order": 7}
    )  # fmt: skip
    [row_of_outbox] = outbox(tenant)
    assert receiver.ids == [str(row_of_outbox["id"])] * 2 and row_of_outbox["payload"] == "{}"


async def test_a_slack_destination_replies_in_a_thread_and_cannot_react(tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Team", "slack", slack_of(receiver))
    await send(tenant.alice, "team", "<b> & co", operation={"type": "reply", "thread": "1712345678.000100"})
    await delivery.deliver(tenant.id)
    [(_, body)] = receiver.unsigned
    assert body["thread_ts"] == "1712345678.000100" and "&lt;b&gt; &amp; co" in body["text"]
    with pytest.raises(
        ToolValidationError, match=r"incoming webhook only posts\. Where .* slack .* add_reaction reacts"
    ):
        await send(tenant.alice, "team", operation={"type": "react", "emoji": "tada"})
    with pytest.raises(ToolValidationError, match="needs thread"):
        await send(tenant.alice, "team", operation={"type": "reply"})
    with pytest.raises(ToolValidationError, match="Only a webhook destination takes data"):
        await send(tenant.alice, "team", operation={"type": "data", "data": {}})
    assert len(sent_by(tenant.alice)) == 1


async def test_an_address_is_sent_to_only_where_a_human_has_agreed(tenant: Cast, mail: MailServer) -> None:
    with pytest.raises(ToolPermissionDenied, match="Nothing was sent"):
        await send(tenant.alice, "bob@example.com")
    assert sent_by(tenant.alice) == [] and outbox(tenant) == []
    await send(tenant.alice, "bob@example.com", "line one\nline two", tier=Tier.ELEVATED)
    await delivery.deliver(tenant.id)
    [received] = mail.received
    email = received.message
    assert email["To"] == "bob@example.com" and "line one\nline two" in email.get_content().replace("\r\n", "\n")
    assert sent_by(tenant.alice)[0]["status"] == "delivered"


async def test_what_is_no_destination_is_refused_with_the_names_that_are(tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Team", "slack", slack_of(receiver))
    await asyncio.to_thread(make, tenant.alice, "Later", "slack", slack_of(receiver))
    await verified(tenant.bob, "Bobs", "slack", slack_of(receiver))
    for to in ("Bobs", "https://hooks.example.com/x", "alice@", 'x@example.com\n"', "=?utf-8?q?x?=@example.com"):
        with pytest.raises(ToolValidationError) as refused:
            await send(tenant.alice, to, tier=Tier.ELEVATED)
        assert "There are inbox, Team." in refused.value.message and refused.value.field == "to"
    with pytest.raises(ToolValidationError, match="not verified"):
        await send(tenant.alice, "later", tier=Tier.ELEVATED)
    assert sent_by(tenant.alice) == [] and outbox(tenant) == []


async def test_the_call_says_how_far_its_message_is_to_its_user_alone(tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Team & co", "slack", slack_of(receiver))
    receiver.answers = [500, 200]
    sent = [{"kind": "message", "id": "m", "action": "sent"}]
    call_id = await asyncio.to_thread(call_rows.row, tenant.alice, tool_name="message", side_effects=sent)
    await send(tenant.alice, "team & CO", call_id=call_id)

    def page(who: Person) -> str:
        return str(signed_in(who).get(f"/history/{call_id}/").content.decode())

    def look(*words: str) -> dict[str, Any]:
        [message] = ask(tenant.alice, "GET", f"tool-calls/{call_id}/").json()["messages"]
        assert all(each in page(tenant.alice) for each in ("To Team &amp; co, slack", *words))
        assert ask(tenant.alice, "GET", f"messages/{message['id']}/").json() == message
        found: dict[str, Any] = message
        return found

    message = await asyncio.to_thread(look, "On its way, tried next at")
    assert (message["status"], message["problem"]) == ("waiting", "")
    await delivery.deliver(tenant.id)
    message = await asyncio.to_thread(look, "tried next at", "The last attempt failed: Slack answered HTTP 500")
    [waiting] = outbox(tenant)
    assert datetime.fromisoformat(message["next_attempt_at"]) == waiting["due_at"]
    make_due(tenant)
    await delivery.deliver(tenant.id)
    message = await asyncio.to_thread(look, "Delivered")
    assert (message["status"], message["problem"], message["next_attempt_at"]) == ("delivered", "", None)
    assert "What became of its message" not in await asyncio.to_thread(page, tenant.dana)
    assert "messages" not in (await asyncio.to_thread(ask, tenant.dana, "GET", f"tool-calls/{call_id}/")).json()


async def test_a_message_that_fails_for_good_is_told_in_the_inbox(tenant: Cast, receiver: Receiver) -> None:
    row = await verified(tenant.alice, "Hook", "webhook", receiver.url)
    receiver.secret = decrypt(row.secret)
    receiver.answers = [410]
    await send(tenant.alice, "Hook")
    await delivery.deliver(tenant.id)
    [sent] = sent_by(tenant.alice)
    assert sent["status"] == "failed"
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    assert (entry["kind"], entry["title"]) == ("delivery", "Your message to Hook could not be delivered")
    assert entry["text"] == "The endpoint answered HTTP 410: it wants no more messages."
    [stored] = rows("SELECT verified_at, disabled_because FROM destinations WHERE id = %(id)s", id=row.id)
    assert stored == {"verified_at": None, "disabled_because": entry["text"]}


async def test_what_waits_for_a_removed_destination_or_member_is_not_delivered(
    tenant: Cast, receiver: Receiver
) -> None:
    row = await verified(tenant.alice, "Hook", "webhook", receiver.url)
    await send(tenant.alice, "Hook")

    def remove() -> None:
        with transactions.scope(*tenant.alice.scope), acting(tenant.alice.scope.user_id, "page"):
            changes.remove(tenant.alice.principal, row.id)

    await asyncio.to_thread(remove)
    await verified(tenant.bob, "Hook", "webhook", receiver.url)
    await send(tenant.bob, "Hook")
    owner("DELETE FROM memberships WHERE user_id = %s", tenant.bob.scope.user_id)
    await delivery.deliver(tenant.id)
    assert receiver.messages == []
    assert [each["status"] for each in (*sent_by(tenant.alice), *sent_by(tenant.bob))] == ["failed", "failed"]


async def test_a_destination_that_hangs_does_not_keep_others_waiting(tenant: Cast, receiver: Receiver) -> None:
    row = await verified(tenant.alice, "Hook", "webhook", receiver.url)
    await verified(tenant.alice, "Team", "slack", slack_of(receiver))
    for _ in range(delivery.AT_ONCE + 2):
        await send(tenant.alice, "Hook")
    await send(tenant.alice, "Team")
    claimed = await delivery._claim(tenant.id)
    try:
        channels = sorted(each["channel"] for each in claimed)
        assert channels == ["slack", *["webhook"] * delivery.AT_ONCE]
        assert delivery._under_way[row.id] == delivery.AT_ONCE
    finally:
        delivery._under_way.clear()


async def test_what_a_call_sent_is_erased_with_the_call(tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Hook", "webhook", receiver.url)
    call_id = uuid.uuid4()
    await send(tenant.alice, "Hook", "secret words", call_id=call_id, operation={"type": "data", "data": {"a": 1}})
    nobody = transactions.TenantScope(tenant.id, uuid.UUID(int=0))
    async with transaction(nobody) as connection:
        await erasure.copies(connection, tenant.id, [call_id])
    [sent] = sent_by(tenant.alice)
    assert (sent["text"], sent["operation"], sent["status"]) == ("", None, "failed")
    await delivery.deliver(tenant.id)
    assert receiver.messages == []


async def test_the_call_of_another_tenant_erases_nothing(tenant: Cast, other_tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Hook", "webhook", receiver.url)
    call_id = uuid.uuid4()
    await send(tenant.alice, "Hook", "words", call_id=call_id)
    async with transaction(other_tenant.alice.scope) as connection:
        await sending.erase(connection, [call_id])
    assert sent_by(tenant.alice)[0]["text"] == "words"


async def test_old_messages_are_dropped_and_those_that_wait_stay(tenant: Cast, receiver: Receiver) -> None:
    await verified(tenant.alice, "Hook", "webhook", receiver.url)
    for text in ("over", "waiting"):
        await send(tenant.alice, "Hook", text)
    owner("UPDATE sent_messages SET created_at = now() - %s WHERE tenant_id = %s", timedelta(days=181), tenant.id)
    owner("UPDATE sent_messages SET status = 'failed' WHERE tenant_id = %s AND text = 'over'", tenant.id)
    await sending.forget_old()
    assert [each["text"] for each in sent_by(tenant.alice)] == ["waiting"]
    assert len(outbox(tenant)) == 1
    assert json.loads(outbox(tenant)[0]["payload"]) == {}
