"""Why an account is not connected, as one tree; nothing has changed when one of these is raised.

Refused
├── NoSuchService           404 not_found: no such service, or not one that people connect to
├── AttemptRefused          400 connection_refused: what came back is not what was begun, or is refused there
└── ServerFailed            502 authorization_server_failed: there is nobody to ask, or no usable answer
"""

from services.errors import NoSuchService
from tenants.errors import Refused

__all__ = ["AttemptRefused", "NoSuchService", "ServerFailed"]


class AttemptRefused(Refused):
    """What came back from the authorization server connects nothing."""

    code = "connection_refused"


class ServerFailed(Refused):
    """The authorization server did not answer, or with nothing that can be used."""

    status = 502
    code = "authorization_server_failed"
