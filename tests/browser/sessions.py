"""Being logged in without the log-in page, its password hashing and its limit."""

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections

from tenants.models import User
from tenants.scope.routing import on_login
from tests.people import Person


def session_of(person: Person) -> str:
    """The key of a new session, as the log-in page would make it."""
    try:
        with on_login("operator"):
            user = User.objects.get(pk=person.principal.user_id)
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "tenants.login.authentication.PasswordBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        return str(session.session_key)
    finally:
        connections.close_all()
