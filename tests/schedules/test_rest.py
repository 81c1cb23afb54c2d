"""Schedules over REST: one's own, what owners may do with others', and what is refused."""

import asyncio
import json
from typing import Any

import pytest

from gateway.runs.conversations import erasure
from gateway.schedules import firing
from gateway.schedules.changes import MAX_CONTENT
from tests.database import rows
from tests.pages.browsing import InProcess
from tests.people import Cast, Person
from tests.schedules.rows import change, make_schedule, runs, schedule, slots

WANTED = {"cron": "0 9 * * 1-5", "tz": "Europe/Berlin", "content": "List my open tasks."}


@pytest.fixture(autouse=True)
def untaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is asked for runs, so that they stay under way."""

    async def ask(*given: object) -> None:
        pass

    monkeypatch.setattr(firing, "request_takeover", ask)


def _ask(who: Person, method: str, path: str = "", body: Any = None) -> Any:
    client = InProcess(headers=who.headers)
    text = "" if body is None else json.dumps(body)
    return client.generic(method, f"/api/v1/schedules/{path}", text, content_type="application/json")


def _made(who: Person, **more: Any) -> dict[str, Any]:
    answer = _ask(who, "POST", body=WANTED | more)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def _changes(tenant: Cast) -> list[dict[str, Any]]:
    return rows(
        "SELECT * FROM setting_changes WHERE tenant_id = %(t)s AND target = 'schedule' ORDER BY id", t=tenant.id
    )


def test_a_schedule_is_made_read_changed_paused_and_deleted(tenant: Cast) -> None:
    made = _made(tenant.alice, agent="default")
    path = f"{made['id']}/"
    assert (made["user"]["id"], made["agent"], made["call_id"]) == (str(tenant.alice.scope.user_id), "default", None)
    assert {name: made[name] for name in WANTED} == WANTED
    assert made["enabled"] and made["next_at"] is not None
    assert _ask(tenant.alice, "GET", path).json() == made
    assert [each["id"] for each in _ask(tenant.alice, "GET").json()["results"]] == [made["id"]]
    later = _ask(tenant.alice, "PATCH", path, {"cron": "30 16 * * FRI", "agent": None}).json()
    assert (later["cron"], later["agent"], later["tz"], later["content"]) == (
        "30 16 * * FRI", None, "Europe/Berlin", WANTED["content"],
    )  # fmt: skip
    paused = _ask(tenant.alice, "PATCH", path, {"enabled": False}).json()
    assert (paused["enabled"], paused["next_at"]) == (False, None)
    again = _ask(tenant.alice, "PATCH", path, {"enabled": True}).json()
    assert again["next_at"] == later["next_at"]
    assert _ask(tenant.alice, "DELETE", path).status_code == 204
    assert _ask(tenant.alice, "GET", path).status_code == 404
    said = [json.dumps(each["changes"], default=str) for each in _changes(tenant)]
    assert len(said) == 5 and not any("open tasks" in each for each in said)


def test_without_a_time_zone_it_is_the_persons_own(tenant: Cast) -> None:
    change("UPDATE users SET time_zone = 'Asia/Tokyo' WHERE id = %s", tenant.alice.scope.user_id)
    answer = _ask(tenant.alice, "POST", body={"cron": "0 9 * * *", "content": "Hello."})
    assert (answer.status_code, answer.json()["tz"]) == (201, "Asia/Tokyo")


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"cron": "* * * * *"}, 400, "invalid_schedule", "cron"),
        ({"cron": "nine"}, 400, "invalid_schedule", "cron"),
        ({"tz": "Mars/Olympus"}, 400, "invalid_schedule", "tz"),
        ({"content": " \n"}, 400, "invalid_schedule", "content"),
        ({"content": "x" * (MAX_CONTENT + 1)}, 400, "invalid_schedule", "content"),
        ({"content": "a\x1bb"}, 400, "invalid_schedule", "content"),
        ({"agent": "nobody"}, 404, "unknown_agent", "agent"),
        ({"overlap": "queue"}, 400, "invalid_request", "overlap"),
        ({"enabled": "perhaps"}, 400, "invalid_request", "enabled"),
    ],
)
def test_what_makes_no_schedule_is_refused(
    tenant: Cast, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    answer = _ask(tenant.alice, "POST", body=WANTED | body)
    refused = answer.json()
    assert (answer.status_code, refused["code"]) == (status, code), refused
    assert field in json.dumps(refused.get("field") or refused["errors"])
    assert rows("SELECT id FROM schedules WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_run_by_hand_has_a_slot_and_a_second_one_is_skipped(tenant: Cast) -> None:
    made = _made(tenant.alice, enabled=False)
    first = _ask(tenant.alice, "POST", f"{made['id']}/run/")
    assert (first.status_code, first.json()["status"], first.json()["run_status"]) == (201, "begun", "in_progress")
    [run] = runs(tenant)
    assert first.json()["run_id"] == str(run["id"])
    second = _ask(tenant.alice, "POST", f"{made['id']}/run/").json()
    assert (second["status"], second["code"], second["run_id"]) == ("skipped", "overlap", None)
    listed = _ask(tenant.alice, "GET", f"{made['id']}/slots/").json()["results"]
    assert [(each["cause"], each["status"]) for each in listed] == [("run_now", "skipped"), ("run_now", "begun")]
    assert listed[1]["run_id"] == str(run["id"])


def test_another_members_schedule_is_not_there(tenant: Cast, other_tenant: Cast) -> None:
    made = make_schedule(tenant.bob, next_at="tomorrow")
    before = schedule(made)
    for who in (tenant.alice, other_tenant.olga):
        assert _ask(who, "GET").json()["results"] == []
        for method, path, body in (
            *(("GET", f"{made}/", None), ("PATCH", f"{made}/", {"enabled": False}), ("DELETE", f"{made}/", None)),
            *(("GET", f"{made}/slots/", None), ("POST", f"{made}/run/", None)),
        ):
            assert _ask(who, method, path, body).status_code == 404, (method, path)
    assert (schedule(made), slots(made), runs(tenant)) == (before, [], [])


def test_an_owner_sees_pauses_and_deletes_a_members_schedule_and_reads_nothing_of_it(tenant: Cast) -> None:
    made = make_schedule(tenant.bob, content="My secret question", next_at="tomorrow")
    [seen] = _ask(tenant.olga, "GET").json()["results"]
    assert (seen["id"], seen["user"]["username"], seen["content"]) == (str(made), tenant.bob.username, None)
    for method, path, body in (
        *(("PATCH", f"{made}/", {"content": "Mine"}), ("PATCH", f"{made}/", {"enabled": True})),
        *(("PATCH", f"{made}/", {"enabled": False, "cron": "0 8 * * *"}), ("POST", f"{made}/run/", None)),
    ):
        refused = _ask(tenant.olga, method, path, body)
        assert (refused.status_code, tenant.bob.username in refused.json()["detail"]) == (403, True)
    assert schedule(made)["content"] == "My secret question" and slots(made) == []
    paused = _ask(tenant.olga, "PATCH", f"{made}/", {"enabled": False}).json()
    assert (paused["enabled"], tenant.olga.username in paused["paused_because"]) == (False, True)
    assert _ask(tenant.dana, "GET", f"{made}/slots/").json()["results"] == []
    assert _ask(tenant.dana, "DELETE", f"{made}/").status_code == 403
    assert _ask(tenant.olga, "DELETE", f"{made}/").status_code == 204
    assert [each["actor_id"] for each in _changes(tenant)] == [tenant.olga.scope.user_id] * 2


def test_erasing_a_person_deletes_their_schedules_first(tenant: Cast) -> None:
    gone, kept = make_schedule(tenant.alice, next_at="tomorrow"), make_schedule(tenant.bob, next_at="tomorrow")

    async def erase() -> int:
        from tenants.scope import transactions

        try:
            done = await erasure.ask(tenant.olga.principal, "user", tenant.alice.scope.user_id)
            return done.stored
        finally:
            await transactions.close_pools()

    assert asyncio.run(erase()) == 1
    assert [row["id"] for row in rows("SELECT id FROM schedules WHERE id = ANY(%(i)s)", i=[gone, kept])] == [kept]


def test_operators_list_pause_and_delete_schedules_with_a_command(tenant: Cast) -> None:
    import io

    from django.core.management import CommandError, call_command

    made = make_schedule(tenant.bob, content="My secret question", next_at="tomorrow")

    def command(*words: str) -> str:
        text = io.StringIO()
        call_command("schedules", *words, "--tenant", tenant.slug, stdout=text)
        return text.getvalue()

    listed = command("list")
    assert str(made) in listed and tenant.bob.username in listed and "secret" not in listed
    command("pause", str(made))
    assert (schedule(made)["enabled"], schedule(made)["paused_because"]) == (False, "The operator paused it.")
    command("delete", str(made))
    assert rows("SELECT id FROM schedules WHERE id = %(i)s", i=made) == []
    with pytest.raises(CommandError, match="has no schedule"):
        command("delete", str(made))
