"""The refusals of the compatible APIs: those of their own, and the form in which a vendor's clients read them.

Refused                     the answer's HTTP status, code and words
├── BadRequest              400, of `gateway.runs.prompting.client_request`
├── Unauthenticated         401 invalid_api_key
└── TooLarge                413 request_too_large
"""

from typing import Any, Protocol

from django.conf import settings

from gateway.http.asgi import Answer, Headers
from gateway.runs.errors import Leaving
from tenants.errors import Refused

MAX_BODY_BYTES: int = settings.TOOLGATE_MAX_V1_BODY_BYTES


class Unauthenticated(Refused):
    """No key, or none that is valid."""

    status = 401
    code = "invalid_api_key"

    def __init__(self) -> None:
        super().__init__("The API key is missing, unknown, revoked or expired.")


class TooLarge(Refused):
    """The body is larger than what is taken."""

    status = 413
    code = "request_too_large"

    def __init__(self) -> None:
        super().__init__(f"The request may have up to {MAX_BODY_BYTES:,} bytes.")


class ErrorBody(Protocol):
    """An error's JSON, in a vendor's shape."""

    def __call__(self, status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
        """The body of an answer with this status."""
        ...


class VendorForm:
    """The form of a compatible API's answers; see `gateway.http.asgi.Form`."""

    id_headers: tuple[bytes, ...] = (b"x-request-id", b"request-id")

    def __init__(self, body: ErrorBody):
        self._body = body

    def refusal(self, refused: Refused) -> Answer:
        """The vendor's error."""
        content = self._body(refused.status, refused.code, refused.detail, refused.field)
        if refused.more:
            content["toolgate"] = refused.more
        headers: Headers = refused.headers
        if isinstance(refused, Leaving):
            # What its run has done is not known here, so no SDK should ask again by itself.
            headers["x-should-retry"] = "false"
        return Answer(refused.status, content, headers)


def of_nobody(status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
    """An error at an address that is no vendor's, in a shape that both read."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return {"type": "error", "error": error}
