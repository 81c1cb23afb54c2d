"""Reminders: told once when their time has come, in the inbox and where their person wants reminders."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.operations import sweeper
from notifications import delivery
from notifications.inbox import reminders
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.inbox.inbox import ask, inbox_of
from tests.inbox.messages import remind, sent_by, slack_of, verified
from tests.notifications.outbox import outbox, owner
from tests.notifications.receiver import Receiver
from tests.pages.browsing import signed_in
from tests.people import Cast
from tools.errors import ToolValidationError


def _later(**away: float) -> str:
    return (datetime.now(UTC) + timedelta(**away)).isoformat()


def _due(cast: Cast) -> list[dict[str, Any]]:
    """As if the time of the tenant's reminders had come; what a sweep then finds of them."""
    owner("UPDATE reminders SET at = now() - interval '1 second' WHERE tenant_id = %s AND fired_at IS NULL", cast.id)
    return rows("SELECT tenant_id, user_id, id FROM reminders WHERE tenant_id = %(t)s AND fired_at IS NULL", t=cast.id)


async def test_a_reminder_is_told_once_by_two_sweeps_at_once(
    tenant: Cast, receiver: Receiver, asked: list[uuid.UUID]
) -> None:
    await verified(tenant.alice, "Team", "slack", slack_of(receiver), reminders=True)
    await verified(tenant.alice, "Quiet", "slack", slack_of(receiver))
    result = await remind(tenant.alice, "Call Bob", _later(hours=1))
    assert await asyncio.to_thread(inbox_of, tenant.alice) == []
    [row] = await asyncio.to_thread(_due, tenant)
    assert str(row["id"]) == result.output["reminder_id"]
    assert row["id"] in {each["id"] for each in await reminders.due(1000)}
    assert sorted(await asyncio.gather(*(reminders.fire(row) for _ in range(4)))) == [False, False, False, True]
    [entry] = await asyncio.to_thread(inbox_of, tenant.alice)
    assert (entry["kind"], entry["title"], entry["text"]) == ("reminder", "Reminder: Call Bob", "")
    [sent] = sent_by(tenant.alice)
    assert (sent["kind"], sent["recipient"], sent["text"]) == ("reminder", "Team", "Call Bob")
    assert asked == [tenant.id]
    await delivery.deliver(tenant.id)
    [(_, body)] = receiver.unsigned
    assert body["text"].startswith("*Reminder*\nCall Bob\n")
    assert row["id"] not in {each["id"] for each in await reminders.due(1000)}


async def test_a_sweep_that_is_lost_before_its_commit_has_told_nothing(
    tenant: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await verified(tenant.alice, "Team", "slack", slack_of(receiver), reminders=True)
    await remind(tenant.alice, "Call Bob", _later(hours=1))
    [row] = await asyncio.to_thread(_due, tenant)

    class Lost(Exception):
        pass

    async def lost(*args: Any, **more: Any) -> int:
        await real(*args, **more)
        raise Lost

    real = reminders.sending.remind
    monkeypatch.setattr(reminders.sending, "remind", lost)
    with pytest.raises(Lost):
        await reminders.fire(row)
    assert await asyncio.to_thread(inbox_of, tenant.alice) == [] and outbox(tenant) == []
    monkeypatch.setattr(reminders.sending, "remind", real)
    assert await reminders.fire(row) is True
    assert len(await asyncio.to_thread(inbox_of, tenant.alice)) == 1 and len(outbox(tenant)) == 1


async def test_the_sweeper_tells_what_is_due(tenant: Cast) -> None:
    await remind(tenant.alice, "Call Bob", _later(hours=1))
    await remind(tenant.alice, "Later", _later(hours=2))
    owner("UPDATE reminders SET at = now() WHERE tenant_id = %s AND text = 'Call Bob'", tenant.id)
    found = await sweeper.sweep()
    assert found["reminders"] >= 1
    assert [each["title"] for each in await asyncio.to_thread(inbox_of, tenant.alice)] == ["Reminder: Call Bob"]


async def test_somebody_who_has_left_is_reminded_of_nothing(tenant: Cast) -> None:
    await remind(tenant.bob, "Call Alice", _later(hours=1))
    [row] = await asyncio.to_thread(_due, tenant)
    owner("DELETE FROM memberships WHERE user_id = %s", tenant.bob.scope.user_id)
    assert await reminders.fire(row) is False
    assert await asyncio.to_thread(inbox_of, tenant.bob) == []
    assert row["id"] not in {each["id"] for each in await reminders.due(1000)}


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("2020-01-01T00:00:00Z", "in the past"),
        ("2999-01-01T00:00:00+01:00", "days away"),
        ("9999-12-31T23:59:59-14:00", "outside the years"),
        ("2027-01-01T00:00:60Z", "no moment"),
    ],
    ids=["past", "far", "end-of-time", "leap-second"],
)
async def test_a_moment_that_cannot_be_is_refused_with_words(tenant: Cast, at: str, why: str) -> None:
    with pytest.raises(ToolValidationError, match=why) as refused:
        await remind(tenant.alice, "Call Bob", at)
    assert refused.value.field == "at"
    assert rows("SELECT id FROM reminders WHERE tenant_id = %(t)s", t=tenant.id) == []


async def test_there_are_at_most_so_many_that_wait(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reminders, "MOST", 1)
    await remind(tenant.alice, "One", _later(hours=1))
    with pytest.raises(ToolValidationError, match="1 reminders that wait"):
        await remind(tenant.alice, "Two", _later(hours=1))
    await remind(tenant.bob, "Bob's", _later(hours=1))


async def test_the_moment_is_shown_in_the_users_own_zone(tenant: Cast) -> None:
    owner("UPDATE users SET time_zone = 'Asia/Kolkata' WHERE id = %s", tenant.alice.scope.user_id)
    result = await remind(tenant.alice, "Call Bob", f"{datetime.now(UTC).year + 1}-01-01T10:00:00+01:00")
    assert result.display == f"Reminder for {datetime.now(UTC).year + 1}-01-01 14:30 (Asia/Kolkata)"


def test_reminders_are_made_listed_and_deleted_over_rest_and_on_their_page(tenant: Cast) -> None:
    made = ask(tenant.alice, "POST", "reminders/", {"text": "Call Bob", "at": _later(hours=1)})
    assert made.status_code == 201, made.content
    path = f"reminders/{made.json()['id']}/"
    assert ask(tenant.alice, "GET", path).json() == made.json()
    for body, field in (
        ({"text": "x", "at": "2020-01-01T00:00:00Z"}, "at"),
        ({"text": "x", "at": "2027-01-01T00:00:00"}, "at"),
        ({"text": "", "at": _later(hours=1)}, "text"),
    ):
        refused = ask(tenant.alice, "POST", "reminders/", body)
        assert refused.status_code == 400 and field in refused.content.decode(), refused.content
    page = signed_in(tenant.alice)
    assert "Call Bob" in page.get("/inbox/reminders/").content.decode()
    for who in (tenant.bob, tenant.olga):
        assert ask(who, "GET", path).status_code == ask(who, "DELETE", path).status_code == 404
        assert "Call Bob" not in signed_in(who).get("/inbox/reminders/").content.decode()
    wrong = page.post("/inbox/reminders/", {"text": "Past", "at": "2020-01-01T00:00:00Z"})
    assert wrong.status_code == 400 and "in the past" in wrong.content.decode()
    assert page.post("/inbox/reminders/", {"text": "Again", "at": _later(days=2)}).status_code == 302
    assert ask(tenant.alice, "DELETE", path).status_code == 204
    [left] = ask(tenant.alice, "GET", "reminders/").json()["results"]
    assert left["text"] == "Again"
    assert page.post(f"/inbox/reminders/{left['id']}/delete/").status_code == 302
    assert ask(tenant.alice, "GET", "reminders/").json()["results"] == []


async def test_old_reminders_are_dropped_and_those_that_wait_stay(tenant: Cast) -> None:
    for text in ("told", "waits"):
        await remind(tenant.alice, text, _later(hours=1))
    owner(
        "UPDATE reminders SET fired_at = now() - interval '181 days' WHERE tenant_id = %s AND text = 'told'", tenant.id
    )
    await reminders.forget_old()
    assert [row["text"] for row in rows("SELECT text FROM reminders WHERE tenant_id = %(t)s", t=tenant.id)] == ["waits"]


async def test_no_tenant_reaches_the_reminder_of_another(tenant: Cast, other_tenant: Cast) -> None:
    await remind(tenant.alice, "Call Bob", _later(hours=1))
    [row] = await asyncio.to_thread(_due, tenant)
    assert await reminders.fire(row | {"tenant_id": other_tenant.id}) is False
    assert await reminders.fire(row | {"user_id": tenant.bob.scope.user_id}) is False
    assert await reminders.fire(row | {"id": uuid.uuid4()}) is False
    async with transaction(tenant.bob.scope) as connection:
        assert await (await connection.execute("SELECT id FROM reminders")).fetchall() == []
