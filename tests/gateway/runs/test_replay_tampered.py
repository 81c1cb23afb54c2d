"""What the database's owner changed in the rows of a run, its replay names."""

import uuid
from typing import Any

import pytest

from gateway.operations.audit_commands.replay import handle
from tests.approvals.api import decide
from tests.database import rows
from tests.gateway.runs.replays import ended, intact, replayed, seal, tamper, wheres
from tests.people import Cast
from tests.stack import Stack

TWO_TURNS = """call: save_note {"title": "a", "content": "b"}
call: list_tasks {}
then:
call: add_task {"title": "c"}"""


@pytest.fixture
def body(stack: Stack, tenant: Cast) -> dict[str, Any]:
    """A run of three turns and three calls."""
    answer = stack.chat(tenant.alice, TWO_TURNS).json()
    assert answer["status"] == "completed"
    intact(tenant, answer["run_id"])
    made: dict[str, Any] = answer
    return made


SAVE, LIST, ADD = "turn 1, call 1 (save_note)", "turn 1, call 2 (list_tasks)", "turn 2, call 1 (add_task)"
CALL = "UPDATE tool_calls SET {} WHERE run_id = %s AND turn = 1 AND position = 0"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("output = '{\"saved\": false}'", "output_hash of its output"),
        ("output_hash = repeat('0', 64)", "output_hash of its output"),
        ('input = \'{"title": "z", "content": "b"}\'', "params_hash"),
        ("tool_name = 'list_tasks'", "entry {proposed}, proposed"),
        ("display = 'x'", "entry {settled}, settled"),
        ("finished_at = finished_at + interval '1 s'", "entry {settled}, settled"),
        ("status = 'error', error_code = 'timeout'", "entry {settled}, settled"),
        ("side_effects = '[]'", "entry {settled}, settled"),
        ("row_key = sha256('x')", "entry {proposed}, proposed"),
    ],
)
def test_a_changed_column_of_a_call_is_named(body: dict[str, Any], change: str, what: str) -> None:
    call_id = body["tool_calls"][0]["id"]
    entries = rows("SELECT kind, seq FROM ledger_entries WHERE call_id = %(id)s", id=call_id)
    tamper("tool_calls", CALL.format(change), body["run_id"])
    found = wheres(body["run_id"])
    where = SAVE if "tool_name" not in change else "turn 1, call 1 (list_tasks)"
    assert (where, what.format(**{row["kind"]: row["seq"] for row in entries})) in found
    assert {each for each, _ in found} == {where}


def test_calls_that_changed_places_are_named(body: dict[str, Any]) -> None:
    tamper("tool_calls", "UPDATE tool_calls SET position = 1 - position WHERE run_id = %s AND turn = 1", body["run_id"])
    named = {where for where, what in wheres(body["run_id"]) if what.endswith("proposed")}
    assert named == {"turn 1, call 2 (save_note)", "turn 1, call 1 (list_tasks)"}


def test_a_call_that_was_taken_away_is_missed(body: dict[str, Any]) -> None:
    tamper("tool_calls", "DELETE FROM tool_calls WHERE run_id = %s AND turn = 1 AND position = 1", body["run_id"])
    found = replayed(body["run_id"]).differences
    assert [(each.where, each.what, each.expected, each.got) for each in found] == [("turn 1", "calls", 2, 1)]


def test_a_call_that_was_put_in_is_named(body: dict[str, Any]) -> None:
    columns = [row["column_name"] for row in rows(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'tool_calls'"
        " AND column_name NOT IN ('id', 'turn') ORDER BY ordinal_position"
    )]  # fmt: skip
    listed = ", ".join(columns)
    insert = f"INSERT INTO tool_calls (id, turn, {listed}) SELECT %s, 9, {listed} FROM tool_calls WHERE id = %s"
    tamper("tool_calls", insert, uuid.uuid4(), body["tool_calls"][0]["id"])
    found = wheres(body["run_id"])
    assert ("turn 9, call 1 (save_note)", "its turn") in found
    assert ("turn 9, call 1 (save_note)", "number of proposed entries") in found
    assert {where for where, _ in found} == {"turn 9, call 1 (save_note)"}


@pytest.mark.parametrize(
    ("change", "turn", "expected"),
    [
        ("text = 'Never.'", 3, ("run", "answer")),
        ("input_tokens = input_tokens + 1", 2, ("run", "input_tokens")),
        ("calls = 7", 2, ("turn 2", "calls")),
        ("number = 7", 3, ("turn 3", "the loop waits for")),
        ("number = 7", 1, ("turn 1", "the loop waits for")),
    ],
)
def test_a_changed_turn_is_named(body: dict[str, Any], change: str, turn: int, expected: tuple[str, str]) -> None:
    tamper("turns", f"UPDATE turns SET {change} WHERE run_id = %s AND number = {turn}", body["run_id"])
    assert expected in wheres(body["run_id"])


def test_a_turn_that_was_taken_away_is_missed(body: dict[str, Any]) -> None:
    tamper("turns", "DELETE FROM turns WHERE run_id = %s AND number = 1", body["run_id"])
    assert {(SAVE, "its turn"), (LIST, "its turn"), ("turn 1", "the loop waits for")} <= set(wheres(body["run_id"]))


@pytest.mark.parametrize(
    "change", ["status = 'failed'", "turns = 7", "output_tokens = 1", "incomplete_reason = 'time'"]
)
def test_a_changed_run_is_named(body: dict[str, Any], change: str) -> None:
    tamper("runs", f"UPDATE runs SET {change} WHERE id = %s", body["run_id"])
    assert wheres(body["run_id"]) == [("run", change.partition(" ")[0])]


def test_a_changed_answer_is_named(body: dict[str, Any]) -> None:
    tamper("messages", "UPDATE messages SET content = 'x' WHERE id = %s", body["id"])
    assert wheres(body["run_id"]) == [("run", "answer")]


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("tool_calls", "UPDATE tool_calls SET decision = '[{\"x\": 1}]' WHERE run_id = %s AND turn = 2"),
        ("turns", "UPDATE turns SET more = '{' WHERE run_id = %s AND number = 2"),
    ],
)
def test_rows_that_make_no_sense_are_named_and_stop_it(body: dict[str, Any], table: str, statement: str) -> None:
    tamper(table, statement, body["run_id"])
    assert ("run", "the rows") in wheres(body["run_id"])
    assert replayed(body["run_id"]).stopped == "the loop cannot be driven over these rows"


def test_an_entry_that_is_gone_is_missed(body: dict[str, Any]) -> None:
    gone = "DELETE FROM ledger_entries WHERE call_id = %s AND kind = 'settled'"
    tamper("ledger_entries", gone, body["tool_calls"][2]["id"])
    assert wheres(body["run_id"]) == [(ADD, "number of settled entries")]


def test_what_an_approver_was_shown_and_decided_is_held_against_the_record(stack: Stack, tenant: Cast) -> None:
    mail = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi"}'
    body = stack.chat(tenant.alice, f"call: list_tasks {{}}\nthen:\n{mail}").json()
    request = uuid.UUID(body["required_action"]["approvals"][0]["id"])
    assert decide(stack, tenant.carol, request, "approve", reason="Good.").status_code == 200
    ended(stack, tenant.alice, body["run_id"])
    intact(tenant, body["run_id"])
    tamper("turns", "UPDATE turns SET text = 'Else.' WHERE run_id = %s AND number = 1", body["run_id"])
    assert wheres(body["run_id"]) == [("turn 2", "what approvers were shown")]
    tamper("approval_decisions", "UPDATE approval_decisions SET reason = 'Bad.' WHERE request_id = %s", request)
    assert [what.partition(", ")[2] for _, what in wheres(body["run_id"])] == ["decided", ""]


def test_the_command_shows_what_differs_and_exits_with_1(
    body: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    tamper("messages", "UPDATE messages SET content = 'x\u202ey' WHERE id = %s", body["id"])
    assert handle({"run": uuid.UUID(body["run_id"])}) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4:-2] == ["DIFFERENCE at run: answer", "  recorded: x‹U+202E›y"]
    assert lines[-1] == "1 difference."


def test_sealed_entries_are_looked_up_in_the_log(body: dict[str, Any]) -> None:
    seal()
    found = replayed(body["run_id"])
    assert (found.differences, found.fits) == ([], {True: 6, False: 0})
    first = rows("SELECT seq, leaf_index FROM ledger_entries WHERE call_id = %(id)s", id=body["tool_calls"][0]["id"])[0]
    later = "UPDATE ledger_entries SET created_at = created_at + interval '1 s' WHERE seq = %s"
    tamper("ledger_entries", later, first["seq"])
    assert wheres(body["run_id"]) == [(f"entry {first['seq']}", f"leaf {first['leaf_index']} of the log")]
