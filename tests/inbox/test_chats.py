"""Messages and reminders in whole chats: whom they reach, who is asked first, and what is left when they fail."""

import asyncio
import json
from typing import Any

from tests.approvals.api import decide
from tests.database import rows
from tests.inbox.inbox import ask, inbox_of
from tests.inbox.messages import sent_by, verified
from tests.people import Cast
from tests.stack import Stack
from tests.taint.test_chats import NOTES, WEB, chat
from tests.waiting import until

# A model writes it like this; the user's own words do not hold the address, since nobody reads escapes.
TO_MALLORY = r'call: message {"to": "mallory\u0040evil.example", "text": "Hi"}'
TO_ALICE = r'call: message {"to": "alice\u0040example.com", "text": "Hi"}'


def _requests(call: dict[str, Any]) -> list[dict[str, Any]]:
    return rows("SELECT * FROM approval_requests WHERE call_id = %(id)s", id=call["id"])


def test_plain_words_reach_the_inbox_and_make_a_reminder(stack: Stack, tenant: Cast) -> None:
    said, [message] = chat(stack, tenant.alice, "message me: the report is done")
    assert said["content"].startswith("I put the message into your inbox.")
    assert (message["tool_name"], message["status"], message["tier"]) == ("message", "success", "workspace")
    [entry] = inbox_of(tenant.alice)
    assert (entry["title"], entry["call_id"]) == ("the report is done", message["id"])
    assert message["side_effects"] == [{"kind": "message", "id": str(entry["id"]), "action": "sent"}]
    said, [reminder] = chat(stack, tenant.alice, "remind me in 10 minutes to stretch")
    assert (reminder["tool_name"], reminder["status"]) == ("create_reminder", "success")
    assert said["content"].startswith('I will have you reminded of "stretch" at ')
    [row] = rows("SELECT text, call_id FROM reminders WHERE tenant_id = %(t)s", t=tenant.id)
    assert row == {"text": "stretch", "call_id": reminder["id"]}


def test_a_verified_destination_is_written_to_without_asking_and_an_address_after_a_human(
    stack: Stack, tenant: Cast
) -> None:
    asyncio.run(verified(tenant.alice, "My mail", "email", "alice@example.com"))
    for to in ("My mail", "alice@example.com"):
        said, [call] = chat(stack, tenant.alice, f"message {to} saying hello")
        assert (call["status"], call["tier"], _requests(call)) == ("success", "system", [])
        assert said["content"].startswith("The message to My mail is on its way.")
    until(lambda: [each["status"] for each in sent_by(tenant.alice)] == ["delivered", "delivered"])
    # It is nobody else's destination.
    _, [of_bob] = chat(stack, tenant.bob, "message alice@example.com saying hello")
    assert (of_bob["status"], of_bob["tier"]) == ("awaiting_approval", "elevated")

    said, [call] = chat(stack, tenant.alice, TO_MALLORY)
    assert (call["status"], call["tier"], len(sent_by(tenant.alice))) == ("awaiting_approval", "elevated", 2)
    [request] = _requests(call)
    decide(stack, tenant.carol, request["id"], "approve")
    until(lambda: len(sent_by(tenant.alice)) == 3)
    sent = sent_by(tenant.alice)[-1]
    assert (sent["recipient"], sent["text"], sent["call_id"]) == ("mallory@evil.example", "Hi", call["id"])


def test_a_session_that_has_read_both_asks_even_for_a_verified_destination(stack: Stack, tenant: Cast) -> None:
    asyncio.run(verified(tenant.alice, "My mail", "email", "alice@example.com"))
    _, calls = chat(stack, tenant.alice, NOTES, "then:", WEB, "then:", TO_ALICE)
    assert (calls[-1]["status"], calls[-1]["tier"]) == ("awaiting_approval", "system")
    assert sent_by(tenant.alice) == []
    # The inbox is inside.
    into_inbox = 'call: message {"to": "inbox", "text": "Hi"}'
    _, calls = chat(stack, tenant.alice, NOTES, "then:", WEB, "then:", into_inbox)
    assert calls[-1]["status"] == "success"


def test_a_call_that_is_refused_leaves_nothing_and_says_what_to_do(stack: Stack, tenant: Cast) -> None:
    past = json.dumps({"text": "Call Bob", "at": "2020-01-01T00:00:00Z"})
    _, [call] = chat(stack, tenant.alice, f"call: create_reminder {past}")
    assert call["error_code"] == "validation_error"
    assert '"at" is in the past: it is' in call["error_message"]
    answer = ask(tenant.alice, "POST", "tools/message/calls", {
        "arguments": {"to": "inbox", "text": "x", "operation": {"type": "react", "emoji": "tada"}}, "wait": 60,
    })  # fmt: skip
    assert answer.json()["error"]["code"] == "validation_error", answer.content
    assert "The inbox cannot react." in answer.json()["error"]["message"]
    assert inbox_of(tenant.alice) == sent_by(tenant.alice) == []
    assert rows("SELECT id FROM reminders WHERE tenant_id = %(t)s", t=tenant.id) == []
