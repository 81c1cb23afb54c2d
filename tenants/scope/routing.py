"""Which database login the ORM uses: the app's, or the operator's inside a superuser's admin request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_login: ContextVar[str] = ContextVar("database_login", default="default")


@contextmanager
def on_login(alias: str) -> Iterator[None]:
    """ORM queries inside go through the connection `alias`."""
    token = _login.set(alias)
    try:
        yield
    finally:
        _login.reset(token)


class RoleRouter:
    """Routes every query to the current login; all logins reach the same database."""

    def db_for_read(self, model: type, **hints: Any) -> str:
        """The current login."""
        return _login.get()

    def db_for_write(self, model: type, **hints: Any) -> str:
        """The current login."""
        return _login.get()

    def allow_relation(self, a: object, b: object, **hints: Any) -> bool:
        """Rows read over different logins are rows of the same database."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Only the owner changes the schema."""
        return db == "owner"
