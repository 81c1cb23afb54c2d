"""When a cron expression is due in a time zone, on the days on which clocks are changed, too."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from gateway.schedules.cron import Times
from gateway.schedules.errors import InvalidSchedule

BERLIN = "Europe/Berlin"
# In Berlin clocks go from 2:00 to 3:00 on 29 March 2026, and from 3:00 back to 2:00 on 25 October.
SPRING, AUTUMN = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)


def _day(cron: str, day: datetime) -> list[str]:
    """The times of a day of Berlin's, in UTC."""
    times = Times.read(cron, BERLIN)
    found = times.latest(day - timedelta(hours=2), day + timedelta(hours=21), 200)
    return [f"{time:%H:%M}" for time in found if time >= day]


@pytest.mark.parametrize(
    ("cron", "day", "due"),
    [
        ("30 1 * * *", SPRING, ["00:30"]),
        # 2:30 does not exist: it is due at 3:00.
        ("30 2 * * *", SPRING, ["01:00"]),
        ("15,45 2,3 * * *", SPRING, ["01:00", "01:15", "01:45"]),
        # Whoever names no hour is due when the clock shows the minute, and it never shows 2:30.
        ("*/30 2 * * *", SPRING, []),
        ("30 0-4 * * *", SPRING, ["00:30", "01:00", "01:30", "02:30"]),
        # 2:30 comes twice: the first one counts.
        ("30 2 * * *", AUTUMN, ["00:30"]),
        ("0 2,3 * * *", AUTUMN, ["00:00", "02:00"]),
        ("*/30 2 * * *", AUTUMN, ["00:00", "00:30", "01:00", "01:30"]),
        ("0 3 * * *", AUTUMN, ["02:00"]),
    ],
)
def test_the_days_on_which_clocks_are_changed(cron: str, day: datetime, due: list[str]) -> None:
    assert _day(cron, day) == due


def test_a_time_that_came_already_does_not_come_again_in_the_hour_that_comes_twice() -> None:
    # 1:10 UTC is the second 2:10 in Berlin; the first 2:30 was 40 minutes before.
    assert Times.read("30 2 * * *", BERLIN).after(datetime(2026, 10, 25, 1, 10, tzinfo=UTC)) == datetime(
        2026, 10, 26, 1, 30, tzinfo=UTC
    )


@settings(max_examples=60, deadline=None)
@given(
    cron=strategies.sampled_from(["30 2 * * *", "*/30 2 * * *", "15,45 1-3 * * *", "7 * * * *", "0 3 29 3,10 *"]),
    tz=strategies.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC"]),
    since=strategies.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 1), timezones=strategies.just(UTC)),
)
def test_times_only_go_on_and_looking_back_finds_those_that_were_ahead(cron: str, tz: str, since: datetime) -> None:
    times, ahead = Times.read(cron, tz), []
    moment: datetime | None = since
    while len(ahead) < 12 and (moment := times.after(moment or since)) is not None:
        ahead.append(moment)
    assert ahead == sorted(set(ahead))
    assert times.latest(ahead[0], ahead[-1], 100) == ahead
    assert times.latest(ahead[0], ahead[-1], 5) == ahead[-5:]


@pytest.mark.parametrize(
    ("cron", "tz", "field", "says"),
    [
        ("* * * * *", "UTC", "cron", "every 1 min at the shortest; a schedule may be due every 5 min"),
        ("*/4 * * * *", "UTC", "cron", "every 4 min"),
        ("0,59 0,23 * * *", "UTC", "cron", "every 1 min"),
        ("0 9 * *", "UTC", "cron", "five fields"),
        ("0 0 9 * * *", "UTC", "cron", "five fields"),
        ("@daily", "UTC", "cron", "five fields"),
        ("0 9 * * *\n", "UTC", "cron", "five fields"),
        ("٣ 9 * * *", "UTC", "cron", "five fields"),
        (f"0 9 * * {','.join('1' * 200)}", "UTC", "cron", "five fields"),
        ("0 24 * * *", "UTC", "cron", "bad hour"),
        ("0 0 30 2 *", "UTC", "cron", "bad day-of-month"),
        ("*/0 * * * *", "UTC", "cron", "bad minute"),
        ("0 9 * * *", "Europe/Atlantis", "tz", "IANA"),
        ("0 9 * * *", "../../etc/passwd", "tz", "IANA"),
        ("0 9 * * *", "", "tz", "IANA"),
    ],
)
def test_what_makes_no_schedule(cron: str, tz: str, field: str, says: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        Times.read(cron, tz)
    assert (refused.value.field, says in refused.value.detail) == (field, True), refused.value.detail


def test_the_operator_says_how_close_together_times_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings as django_settings

    monkeypatch.setattr(django_settings, "TOOLGATE_SCHEDULE_MINUTES", 60)
    with pytest.raises(InvalidSchedule):
        Times.read("*/30 * * * *", "UTC")
    kept: Any = Times.stored("*/30 * * * *", "UTC")
    assert kept.after(SPRING) == SPRING + timedelta(minutes=30)
