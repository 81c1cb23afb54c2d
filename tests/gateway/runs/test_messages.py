"""What the model is shown of the past and of this run's calls."""

import json
import uuid
from typing import Any

import pytest

from gateway.providers.interface import AssistantMessage, ToolMessage, UserMessage
from gateway.runs.prompting import messages
from gateway.runs.rows import PastRun, PastTurn, RunCall
from tests.gateway.runs.rows import call_row, turn
from tools.invocation.in_worker.outcomes import MAX_OUTPUT_BYTES

LIMIT = 16_384


def _shown(call: RunCall, limit: int = LIMIT) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(messages.result(call, limit))
    return found


def test_a_success_is_its_data() -> None:
    assert _shown(call_row(1, 0, "success", output={"a": [1]}, output_bytes=9)) == {"ok": True, "data": {"a": [1]}}


@pytest.mark.parametrize("output", [None, 0, False, "", [], {}])
def test_empty_outputs_are_outputs_too(output: object) -> None:
    assert _shown(call_row(1, 0, "success", output=output, output_bytes=4)) == {"ok": True, "data": output}


@pytest.mark.parametrize("character", ["x", "é", "𝒳", "\n", '"'])
def test_what_is_too_long_is_cut_between_characters_and_says_so(character: str) -> None:
    text = character * 20_000
    size = len(json.dumps(text, ensure_ascii=False).encode())
    found = _shown(call_row(1, 0, "success", output=text, output_bytes=size))
    assert (found["truncated"], found["original_bytes"]) == (True, size)
    assert LIMIT - 3 <= len(found["data"].encode()) <= LIMIT
    assert json.dumps(text, ensure_ascii=False).startswith(found["data"])


def test_an_output_that_was_not_kept_whole_tells_its_real_size() -> None:
    kept = {"truncated": True, "original_bytes": MAX_OUTPUT_BYTES + 5, "data": "[1,2" + "x" * 20_000}
    found = _shown(call_row(1, 0, "success", output=kept, output_bytes=MAX_OUTPUT_BYTES + 5))
    assert (found["ok"], found["truncated"], found["original_bytes"]) == (True, True, MAX_OUTPUT_BYTES + 5)
    assert found["data"].startswith("[1,2x")
    assert len(found["data"]) == LIMIT


def test_a_validation_error_comes_with_field_and_schema() -> None:
    failed = {"error_code": "validation_error", "error_message": "title is missing.", "error_field": "title"}
    found = _shown(call_row(1, 0, "error", **failed))
    assert found["ok"] is False
    assert {name: found["error"][name] for name in ("code", "message", "field")} == {
        "code": "validation_error", "message": "title is missing.", "field": "title"
    }  # fmt: skip
    assert found["error"]["schema"]["required"] == ["title", "content"]


def test_another_error_has_no_schema() -> None:
    found = _shown(call_row(1, 0, "error", error_code="timeout", error_message="Too slow."))
    assert found == {"ok": False, "error": {"code": "timeout", "message": "Too slow."}}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        *((status, "in_progress") for status in ("proposed", "queued", "claimed", "running")),
        ("awaiting_approval", "approval_pending"),
    ],
)
def test_a_call_that_has_not_ended_is_told_as_such(status: str, code: str) -> None:
    assert _shown(call_row(1, 0, status))["error"]["code"] == code


def test_every_suggested_call_has_exactly_one_result_under_the_same_id() -> None:
    calls = [call_row(1, at, status) for at, status in enumerate(["success", "proposed", "queued"])]
    calls.append(call_row(1, 3, "error", error_code="not_allowed", error_message="No.", input=None, input_raw="{x"))
    said, *results = messages.of_turns([turn(1, "Saving.", *calls)], LIMIT)
    assert isinstance(said, AssistantMessage)
    assert said.text == "Saving."
    assert [call.id for call in said.calls] == [result.call_id for result in results if isinstance(result, ToolMessage)]
    assert said.calls[3].arguments == "{x"
    assert json.loads(said.calls[0].arguments) == {"title": "a"}


def test_earlier_runs_come_oldest_first_and_whole() -> None:
    ids = [uuid.uuid4() for _ in range(3)]
    runs = [PastRun(each, f"question {number}") for number, each in enumerate(ids)]
    turns = [PastTurn(each, 1, f"answer {number}") for number, each in enumerate(ids)]
    shown = messages.of_past(runs, turns, [], LIMIT)
    assert [message.text for message in shown if not isinstance(message, ToolMessage)] == [
        "question 2", "answer 2", "question 1", "answer 1", "question 0", "answer 0"
    ]  # fmt: skip


def test_too_long_a_past_is_dropped_from_its_oldest_run_on_but_never_the_newest() -> None:
    ids = [uuid.uuid4() for _ in range(4)]
    long = "x" * (messages.MOST_CHARACTERS // 2)
    runs = [PastRun(each, f"{number}{long}") for number, each in enumerate(ids)]
    shown = messages.of_past(runs, [], [], LIMIT)
    assert [message.text[0] for message in shown if isinstance(message, UserMessage)] == ["0"]
    huge = [PastRun(ids[0], long * 3)]
    assert len(messages.of_past(huge, [], [], LIMIT)) == 1


def test_a_run_without_an_answer_is_its_question_alone() -> None:
    run = PastRun(uuid.uuid4(), "hello")
    assert messages.of_past([run], [], [], LIMIT) == [UserMessage("hello")]
