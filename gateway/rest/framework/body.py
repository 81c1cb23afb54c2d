"""The body of a request, read within its bound."""

from typing import Any

from django.conf import settings
from rest_framework.request import Request

from gateway.http import bodies
from gateway.runs.errors import ContentTooLarge, InvalidRequest


def within(request: Request, most: int, field: str | None = None) -> bytes:
    """All of it. Raises ContentTooLarge beyond `most` bytes, with the field that is to blame."""
    body: bytes = request._request.read(most + 1)
    if len(body) > most:
        raise ContentTooLarge(f"The body may have up to {most:,} bytes.", field)
    return body


def json_object(request: Request) -> dict[str, Any]:
    """The JSON object in it, empty without one. Raises ContentTooLarge and InvalidRequest."""
    body = within(request, settings.TOOLGATE_MAX_BODY_BYTES)
    return bodies.json_object(body, InvalidRequest) if body.strip() else {}
