"""The root of every refusal of a request; each app draws its own tree of them."""

from typing import Any


class Refused(Exception):
    """A request that cannot be served: the answer's HTTP status, a stable code, and `detail` for whoever sent it.

    `more` are further members of the answer, by name.
    """

    status = 400
    code = "invalid_request"

    def __init__(self, detail: str, field: str | None = None):
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.more: dict[str, Any] = {}
