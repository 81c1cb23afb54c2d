"""When members were here last: noted to the hour, so that it costs a request nothing."""

import time
import uuid

from django.db import connection

# A process asks the database as often about one member; the database writes once an hour.
_SECONDS = 3600
# Beyond it everything is forgotten, and noted again.
_MOST = 10_000
_noted: dict[tuple[uuid.UUID, uuid.UUID], float] = {}


def note(tenant_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """Note that a member is here, over Django's connection."""
    now = time.monotonic()
    if now - _noted.get((tenant_id, user_id), -_SECONDS) < _SECONDS:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT record_visit(%s, %s)", [tenant_id, user_id])
    if len(_noted) >= _MOST:
        _noted.clear()
    _noted[tenant_id, user_id] = now
