"""A person's language and time zone."""

import zoneinfo
from functools import cache

from django.db import connection

from tenants.models import LANGUAGES, User
from tenants.people.principal import Principal


@cache
def time_zones() -> tuple[str, ...]:
    """The names of all time zones, in order."""
    return tuple(sorted(zoneinfo.available_timezones()))


def languages() -> tuple[str, ...]:
    """The languages that texts can be searched in."""
    return LANGUAGES


def change(principal: Principal, *, language: str, time_zone: str) -> None:
    """Change the caller's own, which must be two that exist; in the caller's transaction."""
    assert language in LANGUAGES and time_zone in time_zones()
    with connection.cursor() as cursor:
        cursor.execute("SELECT change_profile(%s, %s, %s)", [principal.user_id, language, time_zone])


def of(principal: Principal) -> User:
    """The caller's own account."""
    return User.objects.only("id", "username", "language", "time_zone").get(pk=principal.user_id)
