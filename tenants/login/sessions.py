"""Where a user is logged in: noted when a session is used, listed for its user, and ended at once."""

import re
import time
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from django.contrib.sessions.models import Session
from django.db import connection as django_connection
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants.models import UserSession

# When the session's user logged in.
LOGGED_IN_AT = "logged_in_at"
# A use is noted to the minute by each process, so that it costs no write for each request.
SECONDS = 60.0
MOST = 4096
_noted: OrderedDict[tuple[str, str], float] = OrderedDict()
_RECORD = "SELECT record_session_use(%s, %s, %s, %s, %s)"
_LONGEST_AGENT = 300
_BROWSERS = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(?:Headless)?(?:Chrome|CriOS)/")),
    ("Safari", re.compile(r"\bSafari/")),
)
_SYSTEMS = (
    ("iPhone or iPad", re.compile(r"\b(?:iPhone|iPad)\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("macOS", re.compile(r"\bMac(?:intosh| OS)\b")),
    ("Linux", re.compile(r"\bLinux\b")),
)


def on_log_in(sender: Any, request: HttpRequest, **more: Any) -> None:
    """A session begins."""
    request.session[LOGGED_IN_AT] = int(time.time())


def used(request: HttpRequest) -> None:
    """Note that the request's session, whose user is known, is used now. Outside every transaction."""
    key, address = request.session.session_key, request.META.get("REMOTE_ADDR", "")
    # A handshake of a socket has no address, and its page was noted.
    if not key or not address:
        return
    agent = "".join(each for each in request.headers.get("User-Agent", "") if each.isprintable())[:_LONGEST_AGENT]
    now, which = time.monotonic(), (key, address)
    if now < _noted.get(which, 0.0):
        return
    _noted[which] = now + SECONDS
    _noted.move_to_end(which)
    if len(_noted) > MOST:
        _noted.popitem(last=False)
    at = request.session.get(LOGGED_IN_AT)
    began = datetime.fromtimestamp(at if isinstance(at, int) else time.time(), UTC)
    with django_connection.cursor() as cursor:
        cursor.execute(_RECORD, [key, request.user.pk, began, str(address)[:45], agent])


def of(user_id: uuid.UUID) -> QuerySet[UserSession]:
    """The user's sessions that go on, the last used first. Within their scope."""
    return UserSession.objects.filter(user_id=user_id).order_by("-last_used_at", "-id")


def end(row: UserSession) -> None:
    """End one of them at once. Within its user's scope."""
    Session.objects.filter(session_key=row.session_key).delete()


def end_others(user_id: uuid.UUID, but: str | None) -> int:
    """End all sessions of a user at once, but the one with this key; how many they were."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT end_sessions(%s, %s)", [user_id, but or ""])
        [ended] = cursor.fetchone()
    return int(ended)


def device(agent: str) -> str:
    """What a browser calls itself, in words; what it says is its own affair, and may be anything."""
    browser = next((name for name, found in _BROWSERS if found.search(agent)), "")
    system = next((name for name, found in _SYSTEMS if found.search(agent)), "")
    return f"{browser or 'A browser'} on {system}" if system else browser or "An unknown device"
