"""`/settings/schedules/`: one's own, and what owners see of others'."""

import json
import re
from datetime import UTC, datetime

import pytest

from gateway.schedules import firing
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast
from tests.schedules.rows import change, make_schedule, runs, schedule, slots

PAGE = "/settings/schedules/"
FORM = {"cron": "0 9 * * 1-5", "tz": "Europe/Berlin", "agent": "", "content": "List my <open> tasks."}


@pytest.fixture(autouse=True)
def untaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is asked for runs, so that they stay under way."""

    async def ask(*given: object) -> None:
        pass

    monkeypatch.setattr(firing, "request_takeover", ask)


def test_a_schedule_is_made_seen_changed_run_paused_resumed_exported_and_deleted(tenant: Cast) -> None:
    browser = signed_in(tenant.alice)
    assert "No schedules yet" in browser.get(PAGE).content.decode()
    assert browser.post(PAGE, FORM).headers["Location"] == PAGE
    [made] = rows("SELECT * FROM schedules WHERE tenant_id = %(t)s", t=tenant.id)
    path = f"{PAGE}{made['id']}/"
    shown = browser.get(PAGE).content.decode()
    assert "List my &lt;open&gt; tasks." in shown and "0 9 * * 1-5" in shown and "The schedule is made." in shown
    browser.post(path, FORM | {"cron": "0 7 * * *"})
    assert schedule(made["id"])["cron"] == "0 7 * * *"
    # When it is due next is said in its own time zone.
    for page in (PAGE, path):
        assert re.search(
            r'<time datetime="[^"]+" title="[^"]+ UTC">[^<]+, 07:00</time>', browser.get(page).content.decode()
        )
    browser.post(f"{path}run/")
    [run] = runs(tenant)
    page = browser.get(path).content.decode()
    assert "A run has begun." in page and f"/history/runs/{run['id']}/" in page and "It has not been due" not in page
    browser.post(f"{path}run/")
    assert "was still under way" in browser.get(path).content.decode()
    browser.post(f"{path}pause/")
    assert not schedule(made["id"])["enabled"]
    browser.post(f"{path}resume/")
    assert schedule(made["id"])["next_at"] > datetime.now(UTC)
    [line] = browser.get(f"{PAGE}export.jsonl").content.decode().splitlines()
    assert (json.loads(line)["kind"], json.loads(line)["content"]) == ("schedule", FORM["content"])
    assert browser.post(f"{path}delete/").headers["Location"] == PAGE
    assert rows("SELECT id FROM schedules WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert len(runs(tenant)) == 1


def test_what_is_wrong_is_said_beside_what_was_typed(tenant: Cast) -> None:
    answer = signed_in(tenant.alice).post(PAGE, FORM | {"cron": "* * * * *", "content": "Still here"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "due every 1 min at the shortest" in page and "Still here" in page
    assert rows("SELECT id FROM schedules WHERE tenant_id = %(t)s", t=tenant.id) == []


@pytest.mark.parametrize("what", ["", "run/", "pause/", "resume/", "delete/"])
def test_another_members_schedule_is_not_there(tenant: Cast, what: str) -> None:
    made = make_schedule(tenant.bob, next_at="tomorrow")
    before = schedule(made)
    assert signed_in(tenant.alice).post(f"{PAGE}{made}/{what}", FORM).status_code == 404
    assert (schedule(made), slots(made)) == (before, [])


def test_an_owner_sees_and_pauses_what_others_have_and_does_not_read_it(tenant: Cast) -> None:
    made = make_schedule(tenant.bob, content="My secret question", next_at="tomorrow")
    browser, path = signed_in(tenant.olga), f"{PAGE}{made}/"
    assert tenant.bob.username in browser.get(PAGE).content.decode()
    page = browser.get(path).content.decode()
    assert "Pause" in page and "Run now" not in page and "secret" not in page
    refused = browser.post(path, FORM)
    assert (refused.status_code, "An owner of your tenant can pause" in refused.content.decode()) == (403, True)
    browser.post(f"{path}pause/")
    assert not schedule(made)["enabled"]
    assert f"{tenant.olga.username} paused it" in signed_in(tenant.bob).get(path).content.decode()
    assert "secret" not in signed_in(tenant.dana).get(path).content.decode()
    browser.post(f"{path}run/")
    assert slots(made) == []


def test_why_a_slot_was_refused_is_on_its_page(tenant: Cast) -> None:
    made = make_schedule(tenant.alice)
    change(
        "INSERT INTO schedule_slots (id, tenant_id, user_id, schedule_id, slot_at, cause, status, code, message) "
        "VALUES (gen_random_uuid(), %s, %s, %s, now(), 'time', 'refused', 'killed', 'An owner stopped this.')",
        tenant.id, tenant.alice.scope.user_id, made,
    )  # fmt: skip
    page = signed_in(tenant.alice).get(f"{PAGE}{made}/").content.decode()
    assert "Refused" in page and "An owner stopped this." in page
