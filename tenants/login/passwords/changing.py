"""Changing a password, by the one function that may write it."""

from django.db import connection

from tenants.login import sessions
from tenants.models import User


def change(user: User, password: str, *, session: str | None = None) -> bool:
    """Give the user this password, and end their sessions but the one with this key; False when theirs is not the
    password any more that `user` was read with.
    """
    present = user.password
    user.set_password(password)
    with connection.cursor() as cursor:
        cursor.execute("SELECT change_password(%s, %s, %s)", [user.pk, present, user.password])
        [changed] = cursor.fetchone()
    if changed:
        sessions.end_others(user.pk, session)
    return bool(changed)
