"""Schedules that beats fire while clocks are changed: each slot once, with its run, also after an outage."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from gateway.runs.lifecycle import driving
from gateway.schedules import firing
from tests.database import rows
from tests.people import Cast
from tests.schedules.rows import change, make_schedule, runs, slots

# In Berlin clocks go from 2:00 to 3:00 on 29 March 2026, and from 3:00 back to 2:00 on 25 October.
SPRING, AUTUMN = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)
STEP, DAYS = timedelta(minutes=15), 3


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The runs that workers are asked to take over; the beats drive them."""
    found: list[uuid.UUID] = []

    async def ask(tenant_id: uuid.UUID, user_id: uuid.UUID, run_id: uuid.UUID) -> None:
        found.append(run_id)

    monkeypatch.setattr(firing, "request_takeover", ask)
    return found


class Beats:
    """Two beats that look at a schedule at the same moments; PostgreSQL's clock is at `now` for them."""

    def __init__(self, tenant: Cast, patch: pytest.MonkeyPatch, cron: str, first: datetime):
        self.scope, self.patch, self.now = tenant.alice.scope, patch, first
        self.schedule = make_schedule(tenant.alice, cron=cron, next_at=first)
        change("UPDATE schedules SET tz = 'Europe/Berlin' WHERE id = %s", self.schedule)
        self.due = firing._LOCK_DUE

    async def until(self, end: datetime) -> None:
        """Look every few minutes, and let each run that begins come to its end."""
        while self.now < end:
            self.patch.setattr(firing, "_LOCK_DUE", self.due.replace("now()", f"timestamptz '{self.now.isoformat()}'"))
            await asyncio.gather(*(firing.fire(self.scope, self.schedule) for _ in range(2)))
            for run in rows("SELECT id FROM runs WHERE user_id = %(u)s AND finished_at IS NULL", u=self.scope.user_id):
                await driving.take_over(self.scope, run["id"])
            self.now += STEP

    @property
    def fired(self) -> list[str]:
        """Day, time and what became of each slot, in UTC."""
        found = [(slot["slot_at"].astimezone(UTC), slot["code"] or slot["status"]) for slot in slots(self.schedule)]
        return [f"{moment:%d %H:%M} {became}" for moment, became in found]


def _begun(*moments: str) -> list[str]:
    return [f"{moment} begun" for moment in moments]


@pytest.mark.parametrize(
    ("cron", "since", "fired"),
    [
        # 2:30 does not exist on the 29th: it is due at 3:00.
        ("30 2 * * *", SPRING, ["28 01:30", "29 01:00", "30 00:30"]),
        # Whoever names no minute is due when the clock shows it.
        ("*/30 2 * * *", SPRING, ["28 01:00", "28 01:30", "30 00:00", "30 00:30"]),
        # 2:30 comes twice on the 25th: the first one counts.
        ("30 2 * * *", AUTUMN, ["24 00:30", "25 00:30", "26 01:30"]),
        ("*/30 2 * * *", AUTUMN, ["24 00:00", "24 00:30", *(f"25 {at}" for at in ("00:00", "00:30", "01:00", "01:30")),
                                  "26 01:00", "26 01:30"]),
    ],
    ids=["spring", "spring-every-half-hour", "autumn", "autumn-every-half-hour"],
)  # fmt: skip
async def test_two_beats_fire_each_slot_once_while_clocks_are_changed(
    tenant: Cast,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[uuid.UUID],
    cron: str,
    since: datetime,
    fired: Sequence[str],
) -> None:
    first = datetime.strptime(f"2026-{since:%m}-{fired[0]} +0000", "%Y-%m-%d %H:%M %z")
    beats = Beats(tenant, monkeypatch, cron, first)
    await beats.until(since + timedelta(days=DAYS))
    assert beats.fired == _begun(*fired)
    assert [slot["run_id"] for slot in slots(beats.schedule)] == asked == [run["id"] for run in runs(tenant)]
    assert {run["status"] for run in runs(tenant)} == {"completed"}


@pytest.mark.parametrize(
    ("since", "away", "back", "missed", "newest"),
    [
        (SPRING, "28 12:00", "30 02:00", ["29 01:00"], "30 00:30"),
        (AUTUMN, "24 12:00", "26 02:00", ["25 00:30"], "26 01:30"),
    ],
    ids=["spring", "autumn"],
)
async def test_an_outage_over_the_change_begins_the_newest_slot_alone_when_both_beats_are_back(
    tenant: Cast,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[uuid.UUID],
    since: datetime,
    away: str,
    back: str,
    missed: list[str],
    newest: str,
) -> None:
    def moment(said: str) -> datetime:
        return datetime.strptime(f"2026-{since:%m}-{said} +0000", "%Y-%m-%d %H:%M %z")

    before = "28 01:30" if since is SPRING else "24 00:30"
    beats = Beats(tenant, monkeypatch, "30 2 * * *", moment(before))
    await beats.until(moment(away))
    beats.now = moment(back)
    await beats.until(since + timedelta(days=DAYS))
    assert beats.fired == [*_begun(before), *(f"{each} missed" for each in missed), *_begun(newest)]
    assert len(asked) == len(runs(tenant)) == 2


async def test_an_outage_of_three_slots_in_the_hour_that_comes_twice_runs_the_last_of_them(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, asked: list[uuid.UUID]
) -> None:
    beats = Beats(tenant, monkeypatch, "*/30 2 * * *", AUTUMN + timedelta(days=1))
    # 0:00 UTC is the first 2:00 of the day; the beats are away from then on until 3:00.
    beats.now = AUTUMN + timedelta(days=1, hours=1, minutes=15)
    await beats.until(beats.now + STEP)
    assert beats.fired == ["25 00:00 missed", "25 00:30 missed", "25 01:00 begun"]
    await beats.until(AUTUMN + timedelta(days=2))
    assert beats.fired[3:] == _begun("25 01:30")
    assert len(asked) == len(runs(tenant)) == 2
