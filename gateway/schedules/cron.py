"""When a schedule is due: a cron expression of five fields, in a time zone.

Both changes to and from daylight saving time are as in Debian's cron (`cronsim`):

    minute and hour are given     a time that does not exist that day is due at the first minute that does; one that
    ("30 2 * * *")                comes twice is due the first time only
    minute or hour begins with *  due whenever the clock shows such a time: not at one that does not exist, and twice
    ("*/30 2 * * *")              where it comes twice

All moments here are in UTC, so that none is ever twice or in another order.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.conf import settings

from gateway.schedules.errors import InvalidSchedule
from tenants.people.profile import time_zones

MAX_LENGTH = 200
_FIELDS = ("minute", "hour", "day-of-month", "month", "day-of-week")
_ANY = datetime(2026, 1, 1, tzinfo=UTC)
# None of the rules about time zones moves a clock by more.
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a cron expression in a time zone; `read` checks both."""

    cron: str
    tz: str

    @classmethod
    def read(cls, cron: str, tz: str) -> "Times":
        """Raises InvalidSchedule, also for times that are closer together than the operator allows."""
        times = cls.stored(cron, tz)
        shortest = settings.TOOLGATE_SCHEDULE_MINUTES
        if (minutes := _shortest_gap(times.cron)) < shortest:
            raise InvalidSchedule(
                f"cron {times.cron!r} is due every {minutes} min at the shortest; a schedule may be due every "
                f"{shortest} min. The operator can change that (TOOLGATE_SCHEDULE_MINUTES).",
                "cron",
            )
        if times.after(datetime.now(UTC)) is None:
            raise InvalidSchedule(f"cron {times.cron!r} is never due.", "cron")
        return times

    @classmethod
    def stored(cls, cron: str, tz: str) -> "Times":
        """As `read`, whatever the operator allows by now. Raises InvalidSchedule."""
        cron = " ".join(cron.split(" "))
        if len(cron) > MAX_LENGTH or not re.fullmatch(r"[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4}", cron):
            raise InvalidSchedule(
                f"cron must be five fields ({', '.join(_FIELDS)}) with a space between them, such as '0 9 * * 1-5'.",
                "cron",
            )
        if tz not in time_zones():
            raise InvalidSchedule("tz must be a name of the IANA database, such as Europe/Berlin.", "tz")
        try:
            CronSim(cron, _ANY)
        except CronSimError as error:
            raise InvalidSchedule(f"cron {cron!r} makes no sense: {str(error).lower()}.", "cron") from None
        return cls(cron, tz)

    def _from(self, moment: datetime) -> Iterator[datetime]:
        """All times from a little before the moment on."""
        for time in CronSim(self.cron, (moment - 2 * _ONE_DAY).astimezone(ZoneInfo(self.tz))):
            yield time.astimezone(UTC)

    def after(self, moment: datetime) -> datetime | None:
        """The first time after the moment; None: there is none in the next decades."""
        return next((time for time in self._from(moment) if time > moment), None)

    def latest(self, since: datetime, until: datetime, most: int) -> list[datetime]:
        """The last times from `since` to `until`, both included, in order; at the most so many."""
        backwards = CronSim(self.cron, until.astimezone(ZoneInfo(self.tz)), reverse=True)
        earliest = since
        # Backwards the rules about daylight saving are not kept, so this only says where to begin.
        for passed, time in enumerate(backwards):
            if time.astimezone(UTC) < since:
                break
            if passed == most:
                earliest = time.astimezone(UTC)
                break
        found: list[datetime] = []
        for time in self._from(earliest):
            if time > until:
                break
            if time >= since and (not found or time > found[-1]):
                found.append(time)
        return found[-most:]


@lru_cache(maxsize=256)
def _shortest_gap(cron: str) -> int:
    """The fewest minutes between two times of the expression on one day, or at the turn of one to the next.

    Whether two days that follow each other both have it is not asked: then it may be longer.
    """
    parsed = CronSim(cron, _ANY)
    minutes = sorted(60 * hour + minute for hour in parsed.hours for minute in parsed.minutes)
    following = [*minutes[1:], minutes[0] + 24 * 60]
    return min(later - earlier for earlier, later in zip(minutes, following, strict=True))
