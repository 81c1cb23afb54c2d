"""The tools about the user's conversations, and messages from one to another."""

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from audit.calls import taint
from gateway.runs.conversations.sessions import SessionsOfCall
from tenants.scope.transactions import TenantScope, transaction
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, ended, tree
from tests.people import Cast, Person
from tools.errors import ToolValidationError
from tools.interface import ToolContext, ToolResult
from tools.registry import registry


async def _call(person: Person, tool: str, conversation_id: uuid.UUID | None = None, **arguments: Any) -> ToolResult:
    """What a tool answers to a call from a conversation, or from none."""
    scope = TenantScope(*person.scope)
    call: Any = SimpleNamespace(tenant_id=scope.tenant_id, user_id=scope.user_id, conversation_id=conversation_id)
    found = registry().get(tool)
    assert found is not None
    async with transaction(scope) as connection:
        handles = {"call_id": uuid.uuid4(), **scope._asdict(), "run_id": None, "conversation_id": conversation_id}
        context = ToolContext(**handles, seconds=1, sessions=SessionsOfCall(connection, call))
        return await found.execute(arguments, context)


async def _said(person: Person, *lines: str, **more: Any) -> uuid.UUID:
    return uuid.UUID((await ended(person, *lines, **more))["conversation_id"])


def _send(session: object, message: str) -> str:
    return f"call: send_to_session {json.dumps({'session_id': str(session), 'message': message})}"


async def test_a_message_to_another_conversation_is_answered_there(tenant: Cast) -> None:
    other = await _said(tenant.alice, "One.")
    answer = await ended(tenant.alice, _send(other, "Two."))
    [call] = answer["tool_calls"]
    assert (call["status"], call["error"]) == ("success", None)
    _, parent, child = tree(tenant.alice)
    assert (child["conversation_id"], child["parent_run_id"], child["depth"]) == (other, parent["id"], 1)
    assert call["output"]["run_id"] == str(child["id"])
    said = rows(
        "SELECT content FROM messages WHERE conversation_id = %(c)s AND role = 'user' ORDER BY created_at", c=other
    )
    assert [each["content"] for each in said] == ["One.", "Two."]
    [row] = rows("SELECT kind, parent_id FROM conversations WHERE id = %(c)s", c=other)
    assert (row["kind"], row["parent_id"]) == ("main", None)


async def test_what_was_read_flows_with_the_message_and_with_its_answer(tenant: Cast) -> None:
    scope = TenantScope(*tenant.alice.scope)
    other, here = await _said(tenant.alice, "One."), await _said(tenant.alice, "Here.")
    for conversation, label in ((other, "untrusted"), (here, "private")):
        await taint.add(None, scope, conversation_id=conversation, run_id=None, labels={label}, source=label)
    await ended(tenant.alice, _send(other, "Two."), conversation_id=here)
    async with transaction(scope) as connection:
        found = [{each["label"] for each in await taint.of(connection, each)} for each in (other, here)]
    assert found == [{"private", "untrusted"}] * 2


async def test_nobody_sends_to_anothers_conversation_nor_into_a_run_that_goes_on(tenant: Cast) -> None:
    others = await _said(tenant.bob, "Mine.")
    waiting = await _said(tenant.alice, MAIL)
    here = await _said(tenant.alice, "Here.")
    before = len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id))
    lines = [_send(session, "Two.") for session in (others, uuid.uuid4(), "nonsense", waiting, here)]
    answer = await ended(tenant.alice, *lines, conversation_id=here)
    codes = [call["error"]["code"] for call in answer["tool_calls"]]
    assert codes == ["validation_error"] * 3 + ["unavailable"] * 2
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == before + 1


async def test_sessions_are_listed_read_and_labelled_by_their_user_alone(tenant: Cast) -> None:
    one, two = await _said(tenant.alice, "100% tea."), await _said(tenant.alice, "Coffee.")
    theirs = await _said(tenant.bob, "Cocoa.")
    await _call(tenant.alice, "label_session", two, session_id=str(one), labels=["drinks"])
    await _call(tenant.alice, "label_session", two, labels=["hot"])
    listed = (await _call(tenant.alice, "list_sessions")).output["sessions"]
    assert [(each["title"], each["labels"], each["status"]) for each in listed] == [
        ("Coffee.", ["hot"], "completed"),
        ("100% tea.", ["drinks"], "completed"),
    ]
    for wanted, found in (
        ({"label": "drinks"}, [one]),
        ({"query": "0% TEA"}, [one]),
        ({"query": "%"}, [one]),
        ({"query": "cocoa"}, []),
    ):
        listed = (await _call(tenant.alice, "list_sessions", **wanted)).output["sessions"]
        assert [each["session_id"] for each in listed] == [str(each) for each in found], wanted
    read = (await _call(tenant.alice, "read_session", session_id=str(one))).output
    assert [(each["role"], each["truncated"]) for each in read["messages"]] == [("user", False), ("assistant", False)]
    assert read["messages"][0]["content"] == "100% tea."
    for session in (str(theirs), str(uuid.uuid4()), "nonsense"):
        for tool, more in (("read_session", {}), ("label_session", {"labels": ["x"]})):
            with pytest.raises(ToolValidationError, match="There is no session"):
                await _call(tenant.alice, tool, session_id=session, **more)
    with pytest.raises(ToolValidationError, match="belongs to no session"):
        await _call(tenant.alice, "label_session", labels=["x"])
    assert rows("SELECT labels FROM conversations WHERE id = %(c)s", c=theirs) == [{"labels": []}]


async def test_who_reads_a_session_has_read_what_it_has(tenant: Cast) -> None:
    scope = TenantScope(*tenant.alice.scope)
    one, two = await _said(tenant.alice, "One."), await _said(tenant.alice, "Two.")
    await taint.add(None, scope, conversation_id=one, run_id=None, labels={"untrusted"}, source="web_search")
    assert (await _call(tenant.alice, "read_session", session_id=str(one))).reads == {"untrusted"}
    assert (await _call(tenant.alice, "list_sessions")).reads == {"untrusted"}
    assert (await _call(tenant.alice, "list_sessions", query="Two")).reads == set()
    await _call(tenant.alice, "label_session", one, session_id=str(two), labels=["x"])
    assert (await _call(tenant.alice, "list_sessions", query="Two")).reads == {"untrusted"}
