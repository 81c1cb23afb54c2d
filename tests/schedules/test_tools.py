"""The tools of schedules, through the whole pipeline, in the words that the demo model understands."""

from typing import Any

import pytest

from gateway.schedules import changes
from tests.database import rows
from tests.people import Cast
from tests.schedules.rows import change, drive, make_schedule, runs, schedule, slots
from tests.stack import Stack


def _schedules(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM schedules WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)


def _calls(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return list(answer.json()["tool_calls"])


def test_a_schedule_is_made_listed_run_and_cancelled_in_plain_words(stack: Stack, tenant: Cast) -> None:
    said = stack.chat(tenant.alice, "Every weekday at 9 in Europe/Berlin list my open tasks").json()
    [call] = said["tool_calls"]
    assert (call["tool"], call["status"]) == ("schedule", "success")
    [made] = _schedules(tenant)
    assert (made["cron"], made["tz"], made["content"]) == ("0 9 * * 1-5", "Europe/Berlin", "list my open tasks")
    assert (str(made["call_id"]), str(made["conversation_id"])) == (call["id"], said["conversation_id"])
    assert made["next_at"].isoformat(timespec="seconds") == call["output"]["next_at"]
    [default] = rows("SELECT id FROM agents WHERE tenant_id = %(t)s AND is_default", t=tenant.id)
    assert made["agent_id"] == default["id"]

    [ran] = _calls(stack.chat(tenant.alice, f"Run the schedule {made['id']}"))
    assert (ran["tool"], ran["output"]["status"]) == ("run_schedule", "begun")
    [slot] = slots(made["id"])
    assert (slot["cause"], str(slot["run_id"])) == ("run_now", ran["output"]["run_id"])
    drive(slot["run_id"])

    [listed] = _calls(stack.chat(tenant.alice, "Show me my schedules"))
    [one] = listed["output"]["schedules"]
    assert (one["schedule_id"], one["agent"], one["last"]["status"]) == (str(made["id"]), "default", "begun")
    [gone] = _calls(stack.chat(tenant.alice, f"Cancel the schedule {made['id']}"))
    assert gone["output"] == {"schedule_id": str(made["id"]), "cancelled": True}
    assert _schedules(tenant) == []
    assert slot["run_id"] in [run["id"] for run in runs(tenant)]


@pytest.mark.parametrize(
    ("call", "code", "field"),
    [
        ('schedule {"cron": "* * * * *", "tz": "UTC", "content": "x"}', "validation_error", "cron"),
        ('schedule {"cron": "0 9 * * *", "tz": "Mars", "content": "x"}', "validation_error", "tz"),
        ('run_schedule {"schedule_id": "0197a2f0-0000-7000-8000-000000000000"}', "validation_error", "schedule_id"),
        ('cancel_schedule {"schedule_id": "0197a2f0-0000-7000-8000-000000000000"}', "validation_error", "schedule_id"),
    ],
)
def test_what_is_refused_leaves_nothing(stack: Stack, tenant: Cast, call: str, code: str, field: str | None) -> None:
    [refused] = _calls(stack.chat(tenant.alice, f"call: {call}"))
    assert (refused["status"], refused["error"]["code"], refused["error"].get("field")) == ("error", code, field)
    assert (_schedules(tenant), len(runs(tenant))) == ([], 1)


@pytest.mark.parametrize("tool", ["run_schedule", "cancel_schedule"])
def test_anothers_schedule_is_not_there(stack: Stack, tenant: Cast, tool: str) -> None:
    made = make_schedule(tenant.bob, next_at="tomorrow")
    [refused] = _calls(stack.chat(tenant.alice, f'call: {tool} {{"schedule_id": "{made}"}}'))
    assert refused["status"] == "error"
    assert (schedule(made)["enabled"], slots(made)) == (True, [])


def test_a_person_has_no_more_schedules_than_one_may_have(
    stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(changes.MAX_SCHEDULES):
        make_schedule(tenant.alice, next_at="tomorrow")
    [refused] = _calls(
        stack.chat(tenant.alice, 'call: schedule {"cron": "0 9 * * *", "tz": "UTC", "content": "one more"}')
    )
    assert (refused["error"]["code"], "You have 50 schedules" in refused["error"]["message"]) == (
        "execution_error",
        True,
    )
    assert len(_schedules(tenant)) == changes.MAX_SCHEDULES


def test_a_run_that_a_schedule_began_begins_no_other(stack: Stack, tenant: Cast) -> None:
    made = make_schedule(tenant.alice, next_at="tomorrow")
    other = make_schedule(tenant.alice, next_at="tomorrow", content=f'call: run_schedule {{"schedule_id": "{made}"}}')
    stack.chat(tenant.alice, f'call: run_schedule {{"schedule_id": "{other}"}}')
    [slot] = slots(other)
    drive(slot["run_id"])
    [call] = rows("SELECT status, error_message FROM tool_calls WHERE run_id = %(r)s", r=slot["run_id"])
    assert (call["status"], "cannot begin another run" in call["error_message"]) == ("error", True)
    assert slots(made) == []


def test_a_run_of_another_run_makes_no_schedule(stack: Stack, tenant: Cast) -> None:
    made = make_schedule(
        tenant.alice, next_at="tomorrow", content='call: schedule {"cron": "0 9 * * *", "tz": "UTC", "content": "x"}'
    )
    stack.chat(tenant.alice, f'call: run_schedule {{"schedule_id": "{made}"}}')
    [slot] = slots(made)
    change("UPDATE runs SET profile = profile || '{\"within\": []}' WHERE id = %s", slot["run_id"])
    drive(slot["run_id"])
    [call] = rows("SELECT status, error_code FROM tool_calls WHERE run_id = %(r)s", r=slot["run_id"])
    assert (call["status"], call["error_code"]) == ("error", "permission_denied")
    assert len(_schedules(tenant)) == 1
