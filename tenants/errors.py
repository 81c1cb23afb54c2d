"""The root of every refusal of a request; each app derives its own tree from it."""

from typing import Any


class Refused(Exception):
    """A request that cannot be served: the answer's HTTP status, a stable code, and `detail` for the client.

    `more` are further members of the answer, by name. `retry_after` is in seconds, `challenge` says how to
    authenticate; both are headers of the answer.
    """

    status = 400
    code = "invalid_request"
    retry_after: int | None = None
    challenge: str | None = None

    def __init__(self, detail: str, field: str | None = None):
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.more: dict[str, Any] = {}

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says in its headers."""
        named = {"WWW-Authenticate": self.challenge, "Retry-After": self.retry_after}
        return {name: str(value) for name, value in named.items() if value is not None}
