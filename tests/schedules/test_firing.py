"""Schedules that are due: each slot once, with its run or with why there is none."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from gateway.budgets.models import Budget
from gateway.operations import sweeper
from gateway.runs import preparation
from gateway.runs.lifecycle import driving
from gateway.schedules import expiry, firing
from tests.budgets.rows import make_budget
from tests.database import rows
from tests.inbox.inbox import inbox_of
from tests.people import Cast
from tests.schedules.rows import change, make_schedule, runs, schedule, slots
from tests.stack import Stack
from tests.waiting import eventually

HOUR = timedelta(hours=1)


def _hourly() -> tuple[str, datetime]:
    """A time of each hour, as cron has it, and when it was last: half an hour ago, so that it is not due in a test."""
    last = datetime.now(UTC).replace(second=0, microsecond=0) - HOUR / 2
    return f"{last.minute} * * * *", last


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The runs that workers are asked to take over; none does."""
    found: list[uuid.UUID] = []

    async def ask(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
        found.append(run_id)

    for module in (firing, sweeper):
        monkeypatch.setattr(module, "request_takeover", ask)
    return found


pytestmark = pytest.mark.usefixtures("asked")


async def test_a_run_of_a_schedule_goes_through_a_worker_and_its_calls_say_so(
    stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    _, last = _hourly()
    made = make_schedule(tenant.alice, content='call: add_task {"title": "Water the plants"}', next_at=last)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["cause"], slot["slot_at"]) == ("begun", "time", last)
    run = await eventually(lambda: [row for row in runs(tenant) if row["status"] == "completed"])
    assert [row["id"] for row in run] == [slot["run_id"]]
    [call] = rows("SELECT origin, agent, status, run_id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert (call["origin"], call["status"], call["run_id"]) == ("schedule", "success", slot["run_id"])
    assert schedule(made)["next_at"] > datetime.now(UTC)


async def test_a_run_that_nobody_has_taken_over_is_found_and_its_time_has_not_begun(
    tenant: Cast, asked: list[uuid.UUID]
) -> None:
    made = make_schedule(tenant.alice)
    await firing.fire(tenant.alice.scope, made)
    [run] = runs(tenant)
    assert (run["status"], run["lease_until"], run["resumed_at"]) == ("in_progress", None, None)
    assert asked == [run["id"]]
    await sweeper.sweep()
    assert asked.count(run["id"]) == 2
    await driving.take_over(tenant.alice.scope, run["id"])
    [ended] = runs(tenant)
    assert (ended["status"], ended["turns"]) == ("completed", 1)


async def test_after_an_outage_the_newest_missed_slot_runs_and_the_others_are_skipped(tenant: Cast) -> None:
    cron, last = _hourly()
    made = make_schedule(tenant.alice, cron=cron, next_at=last - 2 * HOUR)
    assert await firing.fire_due() >= 1
    assert [(slot["slot_at"], slot["status"], slot["code"]) for slot in slots(made)] == [
        (last - 2 * HOUR, "skipped", "missed"),
        (last - HOUR, "skipped", "missed"),
        (last, "begun", None),
    ]
    assert [slot["run_id"] for slot in slots(made)] == [None, None, runs(tenant)[0]["id"]]
    assert len(runs(tenant)) == 1
    await firing.fire(tenant.alice.scope, made)
    assert (len(slots(made)), len(runs(tenant))) == (3, 1)


async def test_of_a_long_outage_the_last_hundred_missed_slots_are_recorded(tenant: Cast) -> None:
    cron, last = _hourly()
    made = make_schedule(tenant.alice, cron=cron, next_at=last - 24 * 365 * HOUR)
    await firing.fire(tenant.alice.scope, made)
    found = slots(made)
    assert [slot["status"] for slot in found] == ["skipped"] * firing.MOST_MISSED + ["begun"]
    assert found[-1]["slot_at"] == last


async def test_two_beats_fire_each_slot_once(tenant: Cast) -> None:
    made = [make_schedule(person, next_at=_hourly()[1]) for person in (tenant.alice, tenant.bob)]
    await asyncio.gather(*(firing.fire_due() for _ in range(4)))
    assert [len(slots(each)) for each in made] == [1, 1]
    assert len(runs(tenant)) == 2


async def test_a_slot_is_skipped_while_the_last_run_is_under_way(tenant: Cast) -> None:
    made = make_schedule(tenant.alice, next_at=_hourly()[1])
    await firing.fire(tenant.alice.scope, made)
    change("UPDATE schedules SET next_at = now() WHERE id = %s", made)
    await firing.fire(tenant.alice.scope, made)
    assert [(slot["status"], slot["code"]) for slot in slots(made)] == [("begun", None), ("skipped", "overlap")]
    [run] = runs(tenant)
    await driving.take_over(tenant.alice.scope, run["id"])
    change("UPDATE schedules SET next_at = now() WHERE id = %s", made)
    await firing.fire(tenant.alice.scope, made)
    assert [slot["status"] for slot in slots(made)] == ["begun", "skipped", "begun"]


async def test_a_paused_schedule_has_no_slots(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    change("UPDATE schedules SET enabled = false, next_at = NULL WHERE id = %s", made)
    await firing.fire_due()
    await firing.fire(tenant.alice.scope, made)
    assert (slots(made), runs(tenant)) == ([], [])


async def test_what_stops_a_chat_refuses_a_slot_with_its_words(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    make_budget(tenant, 0, Budget.Unit.REQUESTS)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"], slot["run_id"]) == ("refused", "budget_exhausted", None)
    assert "An owner of your tenant can raise it" in slot["message"]
    assert runs(tenant) == []
    assert schedule(made)["enabled"]


def _suspend(tenant: Cast) -> None:
    change(
        "INSERT INTO kill_switches (id, tenant_id, kind, target, reason, by_operator) "
        "VALUES (gen_random_uuid(), %s, 'tenant', '', 'Suspended.', true)",
        tenant.id,
    )


async def test_a_kill_switch_refuses_a_slot_and_nothing_begins(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    _suspend(tenant)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"]) == ("refused", "killed")
    assert "Suspended." in slot["message"]
    assert runs(tenant) == []


async def test_a_slot_that_is_refused_is_told_once_in_the_inbox_of_whose_schedule_it_is(tenant: Cast) -> None:
    made = make_schedule(tenant.alice, content="List my\n\topen tasks")
    _suspend(tenant)
    await firing.fire(tenant.alice.scope, made)
    await firing.fire(tenant.alice.scope, made)
    [slot], [entry] = slots(made), inbox_of(tenant.alice)
    assert (entry["kind"], entry["key"], entry["text"]) == ("schedule", f"schedule:{slot['id']}", slot["message"])
    assert entry["title"] == "Your schedule did not run: List my open tasks"
    assert entry["path"] == f"/settings/schedules/{made}/"
    assert inbox_of(tenant.bob) == inbox_of(tenant.olga) == []
    answered = await firing.run(tenant.alice.scope, made)
    assert answered.status == "refused"
    assert [entry["key"] for entry in inbox_of(tenant.alice)] == [f"schedule:{each['id']}" for each in slots(made)]


@pytest.mark.parametrize("failed", [True, False])
async def test_a_slot_whose_run_ends_badly_is_told_once_in_the_inbox(tenant: Cast, failed: bool) -> None:
    made, fine = make_schedule(tenant.alice, content=f"Water\nthe {'plants ' * 30}"), make_schedule(tenant.bob)
    await firing.fire(tenant.alice.scope, made)
    await firing.fire(tenant.bob.scope, fine)
    await driving.take_over(tenant.bob.scope, slots(fine)[0]["run_id"])
    assert inbox_of(tenant.alice) == []
    [slot] = slots(made)
    if failed:
        _suspend(tenant)
    else:
        change("UPDATE runs SET profile = profile || '{\"max_seconds\": 0}' WHERE id = %s", slot["run_id"])
    await driving.take_over(tenant.alice.scope, slot["run_id"])
    [run] = rows("SELECT * FROM runs WHERE id = %(r)s", r=slot["run_id"])
    [entry] = inbox_of(tenant.alice)
    said = "Your schedule failed: " if failed else "Your schedule ended at a limit: "
    assert run["status"] == ("failed" if failed else "incomplete")
    assert entry["title"] == said + " ".join(f"Water the {'plants ' * 30}".split())[:100]
    assert ("Suspended." if failed else "time") in entry["text"]
    assert (entry["kind"], entry["key"]) == ("schedule", f"schedule:{slot['id']}")
    assert entry["path"] == f"/settings/schedules/{made}/"
    assert inbox_of(tenant.bob) == []


async def test_an_archived_agent_refuses_a_slot(tenant: Cast) -> None:
    change(
        "INSERT INTO agents (id, tenant_id, slug, name, instructions, model, tools, is_default, max_tier, "
        "on_refused_approval, on_disconnect, max_turns, max_seconds, tool_seconds, max_result_bytes, pinned_tools, "
        "created_at, archived_at) VALUES (gen_random_uuid(), %s, 'old', 'Old', '', '', '[]', false, '', 'tell', "
        "'continue', 8, 120, 30, 16384, '[]', now(), now())",
        tenant.id,
    )
    made = make_schedule(tenant.alice, agent="old")
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"], slot["run_id"]) == ("refused", "unknown_agent", None)


@pytest.mark.parametrize("swept", [True, False])
async def test_the_schedules_of_a_removed_member_are_paused(tenant: Cast, swept: bool) -> None:
    made, of_bob = make_schedule(tenant.alice), make_schedule(tenant.bob)
    change("DELETE FROM memberships WHERE tenant_id = %s AND user_id = %s", tenant.id, tenant.alice.principal.user_id)
    if swept:
        await sweeper.sweep()
        assert slots(made) == []
    else:
        await firing.fire(tenant.alice.scope, made)
        [slot] = slots(made)
        assert (slot["status"], slot["code"], slot["run_id"]) == ("refused", "not_a_member", None)
    row = schedule(made)
    assert (row["enabled"], row["next_at"], row["paused_because"]) == (False, None, firing.LEFT)
    assert schedule(of_bob)["enabled"]
    assert runs(tenant) == []


async def test_an_account_that_is_switched_off_refuses_a_slot(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    change("UPDATE users SET is_active = false WHERE id = %s", tenant.alice.principal.user_id)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"]) == ("refused", "not_a_member")
    assert runs(tenant) == []


async def test_a_time_zone_that_is_gone_pauses_the_schedule_and_says_so(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    change("UPDATE schedules SET tz = 'Mars/Olympus' WHERE id = %s", made)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"]) == ("refused", "invalid_schedule")
    row = schedule(made)
    assert (row["enabled"], "IANA" in row["paused_because"]) == (False, True)


async def test_a_slot_that_fails_unexpectedly_is_recorded_and_the_next_one_comes(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(preparation, "begin_unheld", fail)
    made = make_schedule(tenant.alice)
    await firing.fire(tenant.alice.scope, made)
    [slot] = slots(made)
    assert (slot["status"], slot["code"]) == ("refused", "internal_error")
    assert schedule(made)["next_at"] > datetime.now(UTC)


async def test_the_slot_is_not_written_when_its_run_is_not(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose(*given: object) -> None:
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(firing, "_write", lose)
    made = make_schedule(tenant.alice)
    await firing.fire_due()
    assert (slots(made), runs(tenant)) == ([], [])
    assert schedule(made)["next_at"] <= datetime.now(UTC)


async def test_old_slots_are_forgotten_and_their_runs_stay(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    await firing.fire(tenant.alice.scope, made)
    change("UPDATE schedule_slots SET created_at = now() - interval '31 days' WHERE schedule_id = %s", made)
    await expiry.forget_old()
    assert (slots(made), len(runs(tenant))) == ([], 1)
