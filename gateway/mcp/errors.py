"""The refusals of requests to `/mcp`, and the form in which MCP clients read every one of them.

Refused                     the answer's HTTP status, code and words
├── NotPosted               405 method_not_allowed
├── WrongHost               421 wrong_host
├── WrongOrigin             403 wrong_origin
├── BadMessage              400 parse_error, or invalid_request
├── TooLarge                413 content_too_large
├── NoSession               400 session_required
├── TooManySubscriptions    400 too_many_subscriptions
├── TooManyStreams          429 too_many_streams
├── NotStored               503 unavailable
├── Unauthenticated         401 unauthenticated
└── OutOfScope              403 forbidden
"""

from typing import Any

from django.conf import settings

from gateway.http.asgi import Answer
from tenants.errors import Refused

PATH = "/mcp"
# Where RFC 9728 has clients look for what protects PATH.
METADATA_PATH = f"/.well-known/oauth-protected-resource{PATH}"
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603


class NotPosted(Refused):
    """Only POST is answered, and GET for the standing stream of a client that names its session."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, method: str):
        super().__init__(f"{method[:20]} is not answered here; send each message as a POST.")

    @property
    def headers(self) -> dict[str, str]:
        """Names the method that is."""
        return {**super().headers, "Allow": "POST"}


class WrongHost(Refused):
    """The request was sent to a name that is not Toolgate's."""

    status = 421
    code = "wrong_host"

    def __init__(self) -> None:
        super().__init__("Toolgate is not reached by this Host. The operator names its hosts in ALLOWED_HOSTS.")


class WrongOrigin(Refused):
    """A web page of another origin sent the request."""

    status = 403
    code = "wrong_origin"

    def __init__(self) -> None:
        super().__init__(
            "Web pages of this Origin may not use Toolgate. The operator names them in CORS_ALLOWED_ORIGINS."
        )


class BadMessage(Refused):
    """The body is no message; `code` is parse_error when it is not even JSON."""

    def __init__(self, detail: str, *, parsed: bool = True):
        super().__init__(detail)
        self.code = "invalid_request" if parsed else "parse_error"


class TooLarge(Refused):
    """The body is larger than what is taken."""

    status = 413
    code = "content_too_large"

    def __init__(self) -> None:
        super().__init__(f"A message may have up to {settings.TOOLGATE_MAX_BODY_BYTES:,} bytes.")


class NoSession(Refused):
    """What is asked for lasts longer than the request, and the client does not say which one it is."""

    code = "session_required"

    def __init__(self, method: str):
        super().__init__(f"{method} needs the header Mcp-Session-Id, with the value that the answer to initialize had.")


class TooManySubscriptions(Refused):
    """The client watches as many resources as a client may."""

    code = "too_many_subscriptions"

    def __init__(self, most: int):
        super().__init__(f"A client may watch {most} resources. End the subscription to another one first.")


class TooManyStreams(Refused):
    """The key or token has as many standing streams in this process as it may have."""

    status = 429
    code = "too_many_streams"

    def __init__(self, most: int):
        super().__init__(f"A key or token may have {most} standing streams. Close one; requests need none.")


class NotStored(Refused):
    """What the client wants to be told about cannot be stored."""

    status = 503
    code = "unavailable"

    def __init__(self) -> None:
        super().__init__("This cannot be stored at the moment. Send it again.")


class Unauthenticated(Refused):
    """No key or token, or none that is valid; `invalid_token` tells an OAuth client to refresh its own."""

    status = 401
    code = "unauthenticated"

    def __init__(self, *, invalid_token: bool = False) -> None:
        if invalid_token:
            words = (
                "The access token is unknown, expired or revoked, or not for this address, or its user is no member "
                "any more. Refresh it, or ask the user again."
            )
        else:
            words = (
                "The API key is missing, unknown, revoked or expired. Send one as `Authorization: Bearer tg_…`, which "
                "you can make under Settings, API keys, or log in by OAuth."
            )
        super().__init__(words)
        error = 'error="invalid_token", ' if invalid_token else ""
        self.challenge = f'Bearer realm="toolgate", {error}resource_metadata="{settings.PUBLIC_URL}{METADATA_PATH}"'


class OutOfScope(Refused):
    """The key or token is valid, and does not reach as far as this method."""

    status = 403
    code = "forbidden"

    def __init__(self, method: str, scope: str):
        super().__init__(f"{method} needs a key or token with the scope {scope}.")
        self.challenge = (
            f'Bearer realm="toolgate", error="insufficient_scope", scope="{scope}", '
            f'resource_metadata="{settings.PUBLIC_URL}{METADATA_PATH}"'
        )


def body(status: int, code: str, detail: str, request_id: str | int | None = None) -> dict[str, Any]:
    """A JSON-RPC error; `request_id` is the message's, None when it was not read."""
    number = INTERNAL_ERROR if status >= 500 else PARSE_ERROR if code == "parse_error" else INVALID_REQUEST
    error = {"code": number, "message": detail, "data": {"code": code}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


class McpForm:
    """The form of the answers at `/mcp` that the SDK does not give; see `gateway.http.asgi.Form`."""

    id_headers: tuple[bytes, ...] = (b"x-request-id",)

    def __init__(self) -> None:
        self.request_id: str | int | None = None

    def refusal(self, refused: Refused) -> Answer:
        """A JSON-RPC error."""
        content = body(refused.status, refused.code, refused.detail, self.request_id)
        return Answer(refused.status, content, refused.headers)
