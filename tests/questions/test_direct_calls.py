"""Calls without a chat that ask their user: stopped, answered once, and executed again."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.questions import answering, asking
from approvals.questions.errors import AlreadyAnswered, InvalidAnswer, NoSuchQuestion, QuestionExpired
from audit.calls import ledger
from audit.calls.rows import ToolCall
from audit.models import Origin
from gateway.operations import sweeper
from tests.database import Row, rows
from tests.people import Cast, Person
from tests.questions.asking import NAME, NAME_SCHEMA, PAGE, Asking, Workers, asks
from tools.invocation import invoke
from tools.invocation.in_worker import execution
from tools.invocation.in_worker.asking import MAX_STATE_BYTES
from tools.questions import InputRequired, Question


async def _call(workers: Workers, person: Person) -> ToolCall:
    """Call the tool, and let the workers do what they can."""
    begun = await invoke.begin(person.scope, "asking", {}, origin=Origin.API)
    await workers.work(person)
    return begun.call


def _row(call: ToolCall) -> Row:
    [row] = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call.id)
    return row


def _asked(call: ToolCall) -> list[Row]:
    return rows("SELECT * FROM questions WHERE call_id = %(id)s ORDER BY round, position", id=call.id)


def _kinds(call: ToolCall) -> list[str]:
    entries = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call.id)
    return [entry["kind"] for entry in entries]


def _output(call: ToolCall) -> Any:
    row = _row(call)
    assert row["status"] == "success", row
    return row["output"]


async def test_a_call_that_asks_is_held_by_no_worker_and_goes_on_with_the_answer(
    tenant: Cast, workers: Workers
) -> None:
    tool = Asking(asks(NAME, state={"upstream": [1, "x"]}))
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    row, [question] = _row(call), _asked(call)
    assert (row["status"], row["lease_until"], row["attempt"], row["fence"]) == ("running", None, 0, 2)
    assert (question["message"], question["status"], question["round"]) == ("What is your name?", "pending", 1)
    assert question["schema"] == {**NAME_SCHEMA, "additionalProperties": False}
    assert question["expires_at"] - question["created_at"] == timedelta(hours=asking.HOURS)
    assert "upstream" not in question["state"]
    assert (tool.seen[0].answers, tool.seen[0].state) == ({}, None)

    answered = await answering.answer(tenant.alice.scope, question["id"], "accept", {"name": "Ada"}, via="api")
    assert (answered.status, answered.action) == ("answered", "accept")
    await workers.work(tenant.alice)
    assert _output(call) == {"answers": {"name": ["accept", {"name": "Ada"}]}, "state": {"upstream": [1, "x"]}}
    row = _row(call)
    assert (row["attempt"], row["fence"], len(tool.seen)) == (1, 3, 2)
    assert _kinds(call) == ["proposed", "answered", "settled"]


async def test_the_ledger_vouches_for_an_answer_by_its_hash(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    await answering.answer(tenant.alice.scope, question["id"], "accept", {"name": "Ada"}, via="api")
    [question] = _asked(call)
    [entry] = rows("SELECT * FROM ledger_entries WHERE record_id = %(id)s", id=question["id"])
    made = ledger.commitment(bytes(_row(call)["row_key"]), ledger.answered(question))
    assert (entry["kind"], bytes(entry["commitment"])) == ("answered", made)
    other = ledger.commitment(bytes(_row(call)["row_key"]), ledger.answered(question | {"action": "decline"}))
    assert other != made


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_declines_or_cancels_sends_that_and_no_content(tenant: Cast, workers: Workers, action: str) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    with pytest.raises(InvalidAnswer):
        await answering.answer(tenant.alice.scope, question["id"], action, {"name": "Ada"}, via="api")
    await answering.answer(tenant.alice.scope, question["id"], action, via="api")
    await workers.work(tenant.alice)
    assert _output(call)["answers"] == {"name": [action, None]}


async def test_a_page_to_visit_is_accepted_without_content(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks(PAGE)))
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    assert (question["schema"], question["url"]) == (None, "https://example.com/log-in")
    with pytest.raises(InvalidAnswer):
        await answering.answer(tenant.alice.scope, question["id"], "accept", {}, via="api")
    await answering.answer(tenant.alice.scope, question["id"], "accept", via="api")
    await workers.work(tenant.alice)
    assert _output(call)["answers"] == {"log-in": ["accept", None]}


async def test_a_call_goes_on_only_when_everything_that_it_asked_is_answered(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks(NAME, PAGE)))
    call = await _call(workers, tenant.alice)
    first, second = _asked(call)
    await answering.answer(tenant.alice.scope, second["id"], "accept", via="api")
    assert await workers.work(tenant.alice) == 0
    await sweeper.sweep()
    assert await workers.work(tenant.alice) == 0
    assert _row(call)["status"] == "running"
    await answering.answer(tenant.alice.scope, first["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    assert _output(call)["answers"] == {"name": ["accept", {"name": "Ada"}], "log-in": ["accept", None]}


async def test_a_call_may_ask_again_and_is_given_the_last_answers(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks(state=1), asks(PAGE, state=2)))
    call = await _call(workers, tenant.alice)
    await answering.answer(tenant.alice.scope, _asked(call)[0]["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    assert [question["round"] for question in _asked(call)] == [1, 2]
    await answering.answer(tenant.alice.scope, _asked(call)[1]["id"], "decline", via="api")
    await workers.work(tenant.alice)
    assert _output(call) == {"answers": {"log-in": ["decline", None]}, "state": 2}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (None, "content"),
        ([], "content"),
        ({}, "content.name"),
        ({"name": ""}, "content.name"),
        ({"name": 1}, "content.name"),
        ({"name": "Ada", "more": 1}, "content.more"),
        ({"name": "a\x00b"}, "content.name"),
        ({"name": "a" * answering.MAX_BYTES}, "content"),
    ],
)
async def test_an_answer_that_was_not_asked_for_is_refused_and_the_question_stays(
    tenant: Cast, workers: Workers, content: Any, field: str
) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    with pytest.raises(InvalidAnswer) as refused:
        await answering.answer(tenant.alice.scope, question["id"], "accept", content, via="api")
    assert (refused.value.status, refused.value.field) == (422, field)
    assert (_asked(call), _kinds(call)) == ([question], ["proposed"])


async def test_only_the_calls_own_user_answers(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    for person in (tenant.bob, tenant.carol, tenant.olga):
        with pytest.raises(NoSuchQuestion):
            await answering.answer(person.scope, question["id"], "accept", {"name": "Eve"}, via="api")
    assert _asked(call) == [question]


async def test_of_two_answers_at_once_one_is_sent_and_the_other_is_told(tenant: Cast, workers: Workers) -> None:
    tool = Asking(asks())
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    answers = [
        answering.answer(tenant.alice.scope, question["id"], "accept", {"name": name}, via="api") for name in "ab"
    ]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert sum(isinstance(each, AlreadyAnswered) for each in results) == 1
    await workers.work(tenant.alice)
    for _ in range(2):
        # As if each message had come twice.
        await workers.TASKS["approvals.answered"](*map(str, tenant.alice.scope), str(call.id))
        await execution.execute(*tenant.alice.scope, call.id)
    assert (len(tool.seen), _kinds(call)) == (2, ["proposed", "answered", "settled"])


async def test_what_nobody_answers_in_time_is_a_cancel_to_the_tool(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks(NAME, PAGE)))
    call = await _call(workers, tenant.alice)
    question, page = _asked(call)
    await answering.answer(tenant.alice.scope, page["id"], "accept", via="api")
    _let_pass(call)
    with pytest.raises(QuestionExpired):
        await answering.answer(tenant.alice.scope, question["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    assert _output(call)["answers"] == {"name": ["cancel", None], "log-in": ["accept", None]}
    with pytest.raises(QuestionExpired):
        await answering.answer(tenant.alice.scope, question["id"], "accept", {"name": "Ada"}, via="api")


async def test_the_sweeper_expires_what_nobody_answers_and_a_tool_that_asks_again_then_is_stopped(
    tenant: Cast, workers: Workers
) -> None:
    workers.install(Asking(asks(), asks()))
    call = await _call(workers, tenant.alice)
    _let_pass(call)
    await sweeper.sweep()
    await workers.work(tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"]) == ("error", "cancelled")
    assert "nobody answered in time" in row["error_message"]
    assert [question["status"] for question in _asked(call)] == ["expired"]


def _let_pass(call: ToolCall) -> None:
    rows(
        "UPDATE questions SET expires_at = %(at)s WHERE call_id = %(id)s AND status = 'pending' RETURNING id",
        at=datetime.now(UTC) - timedelta(seconds=1), id=call.id,
    )  # fmt: skip


async def test_an_answer_of_which_nobody_was_told_is_found_by_the_sweeper(
    tenant: Cast, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    workers.lost = True
    await answering.answer(tenant.alice.scope, _asked(call)[0]["id"], "accept", {"name": "Ada"}, via="api")
    workers.lost = False
    monkeypatch.setattr(sweeper, "_ANSWERED", sweeper._ANSWERED.replace("2 seconds", "0 seconds"))
    await sweeper.sweep()
    await workers.work(tenant.alice)
    assert _output(call)["answers"] == {"name": ["accept", {"name": "Ada"}]}


async def test_the_sweeper_does_not_take_a_waiting_call_for_a_lost_one(tenant: Cast, workers: Workers) -> None:
    workers.install(Asking(asks()))
    call = await _call(workers, tenant.alice)
    before = _row(call)
    rows("UPDATE tool_calls SET started_at = started_at - interval '1 day' WHERE id = %(id)s RETURNING id", id=call.id)
    await sweeper.sweep()
    assert _row(call) == before | {"started_at": before["started_at"] - timedelta(days=1)}


async def test_cancelling_a_call_that_waits_withdraws_its_question(tenant: Cast, workers: Workers) -> None:
    tool = Asking(asks())
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    [question] = _asked(call)
    ended = await invoke.cancel(tenant.alice.scope, call.id)
    assert (ended.status, ended.error_code) == ("error", "cancelled")
    assert "It had begun" in str(ended.error_message)
    with pytest.raises(AlreadyAnswered):
        await answering.answer(tenant.alice.scope, question["id"], "accept", {"name": "Ada"}, via="api")
    await sweeper.sweep()
    assert (await workers.work(tenant.alice), len(tool.seen)) == (0, 1)


async def test_a_tool_that_was_switched_off_meanwhile_does_not_go_on(tenant: Cast, workers: Workers) -> None:
    tool = Asking(asks())
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    rows(
        "INSERT INTO grants (id, tenant_id, tool_name, effect, role, created_at)"
        " VALUES (%(id)s, %(tenant)s, 'asking', 'deny', '', now()) RETURNING id",
        id=uuid.uuid4(), tenant=tenant.id,
    )  # fmt: skip
    await answering.answer(tenant.alice.scope, _asked(call)[0]["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"], len(tool.seen)) == ("error", "permission_denied", 1)


async def test_a_tool_that_became_another_meanwhile_does_not_get_the_answer(
    tenant: Cast, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Asking(asks())
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    monkeypatch.setattr(Asking, "parameters", {**Asking.parameters, "title": "Another"})
    await answering.answer(tenant.alice.scope, _asked(call)[0]["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"], len(tool.seen)) == ("error", "policy_denied", 1)


async def test_a_tool_that_became_elevated_meanwhile_does_not_go_on_without_an_approval(
    tenant: Cast, workers: Workers
) -> None:
    tool = Asking(asks())
    workers.install(tool)
    call = await _call(workers, tenant.alice)
    rows(
        "INSERT INTO tool_settings (id, tenant_id, tool_name, enabled, rate, tier, approvals_needed, approval_seconds)"
        " VALUES (%(id)s, %(tenant)s, 'asking', true, '', 'elevated', 1, 24) RETURNING id",
        id=uuid.uuid4(), tenant=tenant.id,
    )  # fmt: skip
    await answering.answer(tenant.alice.scope, _asked(call)[0]["id"], "accept", {"name": "Ada"}, via="api")
    await workers.work(tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"], len(tool.seen)) == ("error", "approval_denied", 1)


_DEEP: Any = []
for _ in range(5000):
    _DEEP = [_DEEP]


@pytest.mark.parametrize(
    "required",
    [
        InputRequired(()),
        asks(*[Question(str(number), "?", NAME_SCHEMA) for number in range(11)]),
        asks(NAME, NAME),
        asks(Question("a", "b" * 4001, NAME_SCHEMA)),
        asks(Question("a\x00", "b", NAME_SCHEMA)),
        asks(Question("a", "b")),
        asks(Question("a", "b", NAME_SCHEMA, "https://example.com")),
        asks(Question("a", "b", {"type": "string"})),
        asks(Question("a", "b", {"type": "object", "properties": {"x": {"$ref": "http://evil.example/"}}})),
        asks(Question("a", "b", url="javascript:alert(1)")),
        asks(Question("a", "b", url="https://user:secret@example.com/")),
        asks(Question("a", "b", url="https://example.com/ x")),
        asks(state="x" * (MAX_STATE_BYTES + 1)),
        asks(state=_DEEP),
        asks(state=object()),
    ],
    ids=[str(number) for number in range(15)],
)
async def test_what_nobody_can_be_asked_ends_the_call_and_nobody_is_asked(
    tenant: Cast, workers: Workers, required: InputRequired
) -> None:
    workers.install(Asking(required))
    call = await _call(workers, tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"], _asked(call)) == ("error", "execution_error", [])
    assert "Nobody was asked" in row["error_message"]


async def test_a_call_that_asks_without_end_is_stopped(
    tenant: Cast, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_ROUNDS", 2)
    workers.install(Asking(*[asks()] * 9))
    call = await _call(workers, tenant.alice)
    for _ in range(2):
        await answering.answer(tenant.alice.scope, _asked(call)[-1]["id"], "accept", {"name": "Ada"}, via="api")
        await workers.work(tenant.alice)
    row = _row(call)
    assert (row["status"], row["error_code"], len(_asked(call))) == ("error", "execution_error", 2)
