"""Erasure: nothing of a payload is left anywhere, and nothing else has changed."""

import asyncio
import uuid
from typing import Any

import psycopg
import pytest

from audit.calls import begun, decisions, ledger, proposing
from audit.retention import erasure as audit_erasure
from audit.retention.erasure import Cause, Scope
from gateway.runs.conversations import erasure
from gateway.runs.errors import ConversationBusy, InvalidRequest, NoSuchSubject, NotAnEraser, StillOpen
from tenants.scope.transactions import transaction
from tests.audit.calls import REFUSED, new_call, place, success
from tests.audit.erasing import DOCUMENTS, calls_of, entries_of, said, tables_with
from tests.database import rows, waited_for
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import eventually

GONE = ("input", "input_raw", "output", "error_message", "error_field", "params_hash", "output_hash",
        "approved_input", "approved_params_hash", "row_key")  # fmt: skip
WORDS = {"model", "user", "log", "field"}


def _bare(answers: Any) -> Any:
    return answers and [{name: value for name, value in each.items() if name not in WORDS} for each in answers]


def _erased(call: dict[str, Any]) -> dict[str, Any]:
    """What should be left of a call."""
    bare = {name: _bare(call[name]) for name in ("decision", "resumed_decision")}
    return call | dict.fromkeys(GONE) | {"display": ""} | bare


async def _settled(person: Person, count: int = 1, **more: Any) -> list[uuid.UUID]:
    """Calls of one turn that succeeded."""
    calls = [new_call(position, **more) for position in range(count)]
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), calls, frozenset(call.id for call in calls))
        for call in calls:
            row = await begun.claim(connection, person.scope, call.id, 15)
            assert row is not None
            await begun.settle(connection, row, success())
    return [call.id for call in calls]


def _erasures(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM erasures WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


async def test_of_an_erased_conversation_nothing_is_left_anywhere(stack: Stack, tenant: Cast) -> None:
    execution = await asyncio.to_thread(said, stack, tenant)
    assert [call["status"] for call in execution.calls] == ["success", "error", "error", "success", "error"]
    before = tables_with(execution.word)
    assert set(before) >= {
        "tool_calls", "approval_requests", "approval_decisions", "messages", "turns", "runs", "conversations", "notes",
    }  # fmt: skip
    assert "ledger_entries" not in tables_with(*execution.secrets)
    old = entries_of(tenant)

    done = await erasure.ask(
        tenant.olga.principal, "conversation", uuid.UUID(execution.conversation_id), "Asked for by mail."
    )

    assert (done.calls, done.conversations) == (5, 1)
    assert set(tables_with(*execution.secrets)) <= DOCUMENTS
    assert calls_of(tenant) == [_erased(call) for call in execution.calls]
    entries = entries_of(tenant)
    assert entries[: len(old)] == old
    added = entries[len(old) :]
    [row] = _erasures(tenant)
    assert (row["scope"], row["subject_id"], row["actor_id"], row["reason"], row["calls"]) == (
        "conversation", uuid.UUID(execution.conversation_id), tenant.olga.scope.user_id, "Asked for by mail.", 5,
    )  # fmt: skip
    assert done.ids == [row["id"]]
    assert [(entry["kind"], entry["call_id"], entry["record_id"]) for entry in added] == [
        ("erased", call["id"], row["id"]) for call in execution.calls
    ]
    # Who decided what is still there, and whether it counted; the entry vouches for that, too.
    decisions = rows("SELECT * FROM approval_decisions WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    for entry, call in zip(added, calls_of(tenant), strict=True):
        left = [each | {"counted": True} for each in decisions if each["call_id"] == call["id"]]
        said_of_it = ledger.erased(row, call | {"decisions": left})
        assert entry["commitment"] == ledger.commitment(row["row_key"], said_of_it)
    assert [(each["verdict"], each["reason"], each["edit"], each["params_hash"]) for each in decisions] == [
        ("approve", "", None, ""), ("deny", "", None, ""),
    ]  # fmt: skip


async def test_of_one_erased_call_its_row_and_its_approval_keep_nothing(stack: Stack, tenant: Cast) -> None:
    execution = await asyncio.to_thread(said, stack, tenant)
    mail, denied = execution.calls[3], execution.calls[4]
    done = await erasure.ask(tenant.alice.principal, "call", denied["id"])
    assert (done.calls, done.conversations) == (1, 0)
    await erasure.ask(tenant.olga.principal, "call", mail["id"])
    kept = [each for call in (mail, denied) for name, each in call.items() if name in GONE and isinstance(each, str)]
    # Both mails were asked for with the same arguments, and so were their hashes.
    assert set(tables_with(*(each for each in kept if len(each) == 64))) == set()
    approvals = rows("SELECT * FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    assert [(each["context"], each["why"], each["params_hash"]) for each in approvals] == [([], "", "")] * 2
    # The run that the denial ended quoted it; what the people of the conversation said is still theirs.
    assert set(tables_with(execution.word)) == {"tool_calls", "messages", "turns", "conversations", *DOCUMENTS} - {
        "tasks"
    }
    assert calls_of(tenant) == [*execution.calls[:3], _erased(mail), _erased(denied)]


async def test_an_erased_user_keeps_no_conversation_and_others_keep_theirs(stack: Stack, tenant: Cast) -> None:
    execution = await asyncio.to_thread(said, stack, tenant)
    bobs = await _settled(tenant.bob)
    await asyncio.to_thread(stack.chat, tenant.alice, f"hello {execution.word}")
    await asyncio.to_thread(stack.chat, tenant.bob, "hello")
    done = await erasure.ask(tenant.olga.principal, "user", tenant.alice.scope.user_id)
    assert (done.calls, done.conversations) == (5, 2)
    assert set(tables_with(*execution.secrets)) <= DOCUMENTS
    [theirs] = [call for call in calls_of(tenant) if call["id"] in bobs]
    assert theirs["row_key"] is not None and theirs["input"] is not None
    assert [row["user_id"] for row in rows("SELECT * FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)] == [
        tenant.bob.scope.user_id
    ]
    assert [(row["scope"], row["calls"]) for row in _erasures(tenant)] == [("user", 5)]


async def test_a_conversation_without_calls_is_on_record_as_erased(stack: Stack, tenant: Cast) -> None:
    body = (await asyncio.to_thread(stack.chat, tenant.alice, "hello")).json()
    done = await erasure.ask(tenant.alice.principal, "conversation", uuid.UUID(body["conversation_id"]))
    assert (done.calls, done.conversations, len(done.ids)) == (0, 1, 1)
    assert [(row["scope"], row["calls"]) for row in _erasures(tenant)] == [("conversation", 0)]
    assert [entry["kind"] for entry in entries_of(tenant)] == []


async def test_what_is_erased_already_is_left(tenant: Cast) -> None:
    [call_id] = await _settled(tenant.alice)
    assert (await erasure.ask(tenant.olga.principal, "call", call_id)).calls == 1
    left = calls_of(tenant), entries_of(tenant), _erasures(tenant)
    for scope, subject in (("call", call_id), ("conversation", left[0][0]["conversation_id"]),
                           ("user", tenant.alice.scope.user_id)):  # fmt: skip
        again = await erasure.ask(tenant.olga.principal, scope, subject)
        assert (again.calls, again.conversations, again.ids) == (0, 0, [])
    assert (calls_of(tenant), entries_of(tenant), _erasures(tenant)) == left


async def test_where_nobody_says_how_decisions_are_read_nothing_is_erased(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    [call_id] = await _settled(tenant.alice)
    before = calls_of(tenant), entries_of(tenant)
    monkeypatch.setattr(decisions, "_registered", [])
    with pytest.raises(LookupError, match="how decisions are read"):
        await erasure.ask(tenant.olga.principal, "call", call_id)
    assert (calls_of(tenant), entries_of(tenant), _erasures(tenant)) == (*before, [])


async def test_a_refused_call_is_erased_too(tenant: Cast) -> None:
    call = new_call(refusal=REFUSED)
    async with transaction(tenant.alice.scope) as connection:
        await proposing.propose(connection, place(tenant.alice), [call], frozenset())
    [before] = calls_of(tenant)
    await erasure.ask(tenant.alice.principal, "call", call.id)
    assert calls_of(tenant) == [_erased(before)]
    assert [entry["kind"] for entry in entries_of(tenant)] == ["proposed", "settled", "erased"]


async def test_a_call_that_is_not_final_is_not_erased(tenant: Cast) -> None:
    call = new_call()
    async with transaction(tenant.alice.scope) as connection:
        await proposing.propose(connection, place(tenant.alice), [call], frozenset({call.id}))
    before = calls_of(tenant), entries_of(tenant)
    with pytest.raises(StillOpen, match="not final"):
        await erasure.ask(tenant.alice.principal, "call", call.id)
    assert (calls_of(tenant), entries_of(tenant)) == before
    assert _erasures(tenant) == []


async def test_nothing_is_taken_away_from_under_a_run(stack: Stack, tenant: Cast) -> None:
    mail = 'call: send_email {"to": "bob@example.com", "subject": "a", "body": "b"}'
    body = (await asyncio.to_thread(stack.chat, tenant.alice, mail)).json()
    assert body["status"] == "requires_action"
    before = calls_of(tenant)
    with pytest.raises(ConversationBusy):
        await erasure.ask(tenant.olga.principal, "conversation", uuid.UUID(body["conversation_id"]))
    with pytest.raises(StillOpen, match=body["run_id"]):
        await erasure.ask(tenant.olga.principal, "user", tenant.alice.scope.user_id)
    assert calls_of(tenant) == before and _erasures(tenant) == []
    assert len(rows("SELECT id FROM conversations WHERE tenant_id = %(t)s", t=tenant.id)) == 1


async def test_owners_erase_anybodys_and_others_only_their_own(tenant: Cast, other_tenant: Cast) -> None:
    [call_id] = await _settled(tenant.alice)
    subjects = {
        "call": call_id,
        "conversation": calls_of(tenant)[0]["conversation_id"],
        "user": tenant.alice.scope.user_id,
    }
    for scope, subject in subjects.items():
        for stranger in (tenant.bob, tenant.carol, other_tenant.olga, other_tenant.alice):
            with pytest.raises(NoSuchSubject):
                await erasure.ask(stranger.principal, scope, subject)
        with pytest.raises(NotAnEraser):
            await erasure.ask(tenant.dana.principal, scope, subject)
        with pytest.raises(NoSuchSubject):
            await erasure.ask(tenant.olga.principal, scope, uuid.uuid4())
    assert calls_of(tenant)[0]["row_key"] is not None
    assert (await erasure.ask(tenant.alice.principal, "user", subjects["user"])).calls == 1


@pytest.mark.parametrize("reason", ["x" * 2001, "a\x00b", "a\x1bb", "a\ud800b"])
async def test_a_reason_that_cannot_be_kept_is_refused(tenant: Cast, reason: str) -> None:
    [call_id] = await _settled(tenant.alice)
    with pytest.raises(InvalidRequest):
        await erasure.ask(tenant.olga.principal, "call", call_id, reason)
    assert _erasures(tenant) == []


async def test_many_calls_are_erased_a_batch_at_a_time(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await _settled(tenant.alice, 7)
    following = audit_erasure.following

    async def small(connection: Any, cause: Any, **more: Any) -> Any:
        return await following(connection, cause, **{"limit": 3} | more)

    monkeypatch.setattr(audit_erasure, "following", small)
    done = await erasure.ask(tenant.olga.principal, "user", tenant.alice.scope.user_id)
    assert (done.calls, [row["calls"] for row in _erasures(tenant)]) == (7, [3, 3, 1])
    erased = [entry["call_id"] for entry in entries_of(tenant) if entry["kind"] == "erased"]
    assert erased == ids


async def test_of_two_erasures_at_once_each_call_is_erased_by_one(tenant: Cast) -> None:
    ids = await _settled(tenant.alice, 20)
    cause = Cause(tenant.id, Scope.USER, tenant.alice.scope.user_id)
    done = await asyncio.gather(*(erasure.erase(cause, tenant.alice.scope.user_id) for _ in range(4)))
    assert sum(each.calls for each in done) == len(ids)
    erased = [entry["call_id"] for entry in entries_of(tenant) if entry["kind"] == "erased"]
    assert sorted(erased) == ids


async def test_a_call_that_settles_while_an_erasure_waits_for_it_is_erased_as_it_settled(tenant: Cast) -> None:
    call = new_call()
    async with transaction(tenant.alice.scope) as connection:
        await proposing.propose(connection, place(tenant.alice), [call], frozenset({call.id}))
        row = await begun.claim(connection, tenant.alice.scope, call.id, 15)
    cause = Cause(tenant.id, Scope.CALL, call.id)

    async def erase() -> Any:
        async with transaction(tenant.olga.scope) as connection:
            return await audit_erasure.erase(connection, cause, [call.id], erasure.copies)

    async with transaction(tenant.alice.scope) as connection:
        assert await begun.settle(connection, row, success())
        erasing = asyncio.create_task(erase())
        await eventually(lambda: erasing.done() or waited_for(connection))
        assert not erasing.done()
    erased = await erasing
    assert erased["calls"] == 1
    [after] = calls_of(tenant)
    assert (after["status"], after["row_key"], after["output"], after["output_hash"]) == ("success", None, None, None)
    assert [entry["kind"] for entry in entries_of(tenant)] == ["proposed", "settled", "erased"]


async def test_the_app_can_erase_a_final_row_and_change_nothing_else(tenant: Cast) -> None:
    [call_id] = await _settled(tenant.alice)
    for change in ("input = NULL", "output = NULL", "row_key = NULL", "display = ''", "status = 'error'",
                   "decision = '[]', side_effects = '[]'"):  # fmt: skip
        with pytest.raises(psycopg.Error):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(f"UPDATE tool_calls SET {change} WHERE id = %s".encode(), [call_id])
    for statement in ("UPDATE approval_decisions SET verdict = 'deny'", "DELETE FROM approval_decisions",
                      "UPDATE erasures SET calls = 0", "DELETE FROM erasures"):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(statement.encode())


async def test_a_decision_may_only_lose_its_words(stack: Stack, tenant: Cast) -> None:
    execution = await asyncio.to_thread(said, stack, tenant)
    before = rows("SELECT * FROM approval_decisions WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    for change in ("reason = 'x', edit = NULL, params_hash = ''", "reason = ''", "params_hash = ''",
                   "reason = '', edit = NULL, params_hash = 'x'"):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(f"UPDATE approval_decisions SET {change}".encode())
    for change in ("why = ''", "context = '[]'", "params_hash = ''", "context = '[]', why = '', params_hash = 'x'"):
        with pytest.raises(psycopg.errors.IntegrityError):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(f"UPDATE approval_requests SET {change}".encode())
    assert rows("SELECT * FROM approval_decisions WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id) == before
    assert len(execution.calls) == 5


async def test_a_conversation_goes_on_after_a_call_of_it_was_erased(stack: Stack, tenant: Cast) -> None:
    execution = await asyncio.to_thread(said, stack, tenant)
    for call in execution.calls:
        await erasure.ask(tenant.alice.principal, "call", call["id"])
    answer = await asyncio.to_thread(stack.chat, tenant.alice, "hello", conversation_id=execution.conversation_id)
    assert (answer.status_code, answer.json()["status"]) == (200, "completed")
    for call in execution.calls:
        run = await asyncio.to_thread(stack.get, tenant.alice, f"/api/v1/runs/{call['run_id']}")
        assert run.status_code == 200
        assert all(each["input"] is None and each["output"] is None for each in run.json()["tool_calls"])
        trace = await asyncio.to_thread(stack.get, tenant.alice, f"/api/v1/runs/{call['run_id']}/trace")
        assert trace.status_code == 200
        for path in (f"/api/v1/tool-calls/{call['id']}/", f"/api/v1/tool-calls/{call['id']}/receipt/"):
            assert (await asyncio.to_thread(stack.get, tenant.alice, path)).status_code == 200
        if call["approval_id"]:
            approval = await asyncio.to_thread(stack.get, tenant.carol, f"/api/v1/approvals/{call['approval_id']}/")
            assert (approval.status_code, approval.json()["context"]) == (200, [])
