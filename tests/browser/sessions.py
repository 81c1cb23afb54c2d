"""Being logged in without the log-in page, its password hashing and its limit."""

import time

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections

from tenants.login import visits
from tenants.login.reauthentication import AUTHENTICATED_AT
from tenants.models import User
from tenants.scope.routing import on_login
from tests.people import Person


def session_of(person: Person, *, seconds_ago: int = 0) -> str:
    """The key of a new session, as the log-in page would have made it so long ago."""
    try:
        # Once an hour a request notes that somebody was here: for these people another one did.
        visits.note(person.principal.tenant_id, person.principal.user_id)
        with on_login("operator"):
            user = User.objects.get(pk=person.principal.user_id)
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "tenants.login.authentication.PasswordBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session[AUTHENTICATED_AT] = int(time.time()) - seconds_ago
        session.save()
        return str(session.session_key)
    finally:
        connections.close_all()
