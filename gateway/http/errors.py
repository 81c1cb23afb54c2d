"""Exceptions as the refusals that clients are answered, whichever API they ask.

Refused                     the answer's HTTP status, code, words and headers
├── InvalidKey              401 unauthenticated
├── MissingScope            403 forbidden
└── Failed                  500 internal_error
"""

import logging

import django.db
import psycopg

from gateway.runs.errors import Unavailable
from tenants.errors import Refused

log = logging.getLogger(__name__)

CHALLENGE = 'Bearer realm="toolgate"'
DATABASE_AWAY = (psycopg.OperationalError, django.db.OperationalError)


class InvalidKey(Refused):
    """The bearer is no key that is valid."""

    status = 401
    code = "unauthenticated"
    challenge = CHALLENGE

    def __init__(self) -> None:
        super().__init__("The API key is not valid: unknown, revoked or expired.")


class MissingScope(Refused):
    """The caller is known, and may not do this."""

    status = 403
    code = "forbidden"

    def __init__(self, scope: str):
        super().__init__(f"This needs the scope {scope}.")


class Failed(Refused):
    """Toolgate's own fault, of which a client is told no details."""

    status = 500
    code = "internal_error"

    def __init__(self) -> None:
        super().__init__("Toolgate failed to answer. The failure was recorded.")


def refusal_of(error: Exception) -> Refused:
    """What a client is answered when its request ended in this exception; what is no refusal is logged."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, DATABASE_AWAY):
        log.warning("database away", extra={"why": type(error).__name__})
        return Unavailable()
    log.exception("request failed", exc_info=error)
    return Failed()
