"""Exceptions as the refusals that clients are answered, whichever API they ask.

Refused                     the answer's HTTP status, code, words and headers
├── InvalidKey              401 unauthenticated
├── MissingScope            403 forbidden
├── TooManyRequests         429 rate_limited
├── LimitsAway              503 unavailable
├── SettingChanged          412 changed_meanwhile
└── Failed                  500 internal_error
"""

import logging
from collections.abc import Mapping

import django.db
import psycopg
from django.conf import settings

from gateway.runs.errors import Unavailable
from tenants.errors import Refused
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.people.changes import ChangedMeanwhile, Unconfirmed
from tools.gates.rate_counter import Charge

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


class TooManyRequests(Refused):
    """As many requests as the tenant, the person or the key may make were let through in the last minute."""

    status = 429
    code = "rate_limited"

    def __init__(self, charges: Mapping[str, Charge], seconds: int):
        whose, worst = max(
            ((whose, charge) for whose, charge in charges.items() if not charge.allowed), key=lambda each: each[1].reset
        )
        named = {"tenant": "Your tenant", "person": "You", "key": "This API key"}[whose]
        super().__init__(
            f"{named} may make {worst.limit} requests per minute over the API. Try again in {worst.reset} seconds. "
            f"An owner of the tenant can change the limit ({settings.PUBLIC_URL}/settings/safety/), as far as the "
            "operator allows."
        )
        self.retry_after = worst.reset
        self._policy = ", ".join(f'"{whose}";q={each.limit};w={seconds}' for whose, each in charges.items())
        self._state = ", ".join(f'"{whose}";r={each.remaining};t={each.reset}' for whose, each in charges.items())

    @property
    def headers(self) -> dict[str, str]:
        """With all limits that apply, and what is left of each."""
        return super().headers | {"RateLimit-Policy": self._policy, "RateLimit": self._state}


class LimitsAway(Refused):
    """The limits of requests cannot be counted, and the request may change something."""

    status = 503
    code = "unavailable"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__(
            "The limits of your tenant's requests cannot be counted for the moment, so nothing that changes anything "
            "is let through. Try again in a few seconds; if it goes on, tell the operator."
        )


class SettingChanged(Refused):
    """Somebody changed the setting meanwhile: it is not what If-Match names."""

    status = 412
    code = "changed_meanwhile"

    def __init__(self, changed: ChangedMeanwhile):
        now = changed.now
        super().__init__(
            "Somebody changed this meanwhile, and nothing of yours was saved. Look at it as it is now, and send your "
            "change with the new ETag."
            if now
            else "This is not there any more, or was not there yet: somebody changed it meanwhile. Nothing was saved."
        )
        self.more = {"now": None if now is None else ({"name": now.name} if now.name else {}) | dict(now.values)}


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
    if isinstance(error, Unconfirmed):
        return ReauthenticationRequired()
    if isinstance(error, ChangedMeanwhile):
        return SettingChanged(error)
    if isinstance(error, DATABASE_AWAY):
        log.warning("database away", extra={"why": type(error).__name__})
        return Unavailable()
    log.exception("request failed", exc_info=error)
    return Failed()
