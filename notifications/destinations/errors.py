"""What people are refused about their destinations.

Refused
├── NoSuchDestination      the person has none of this id
├── RefusedDestination     its name, channel or destination is not possible
├── DestinationTaken       the person has one of this name, or as many as they may have
├── AskedTooOften          it was asked to be verified a moment ago, or too many were
└── NotVerified            it did not prove itself, and `detail` says why
"""

from tenants.errors import Refused


class NoSuchDestination(Refused):
    """The person has no such destination."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such destination of yours.")


class RefusedDestination(Refused):
    """The destination is not possible as it is given."""

    code = "invalid_destination"


class DestinationTaken(Refused):
    """There is one of this name already, or there are too many."""

    status = 409
    code = "destination_taken"


class AskedTooOften(Refused):
    """It may be asked again later."""

    status = 429
    code = "rate_limited"

    def __init__(self, detail: str, seconds: int):
        super().__init__(detail)
        self.retry_after = seconds


class NotVerified(Refused):
    """The destination did not prove itself."""

    status = 409
    code = "not_verified"
