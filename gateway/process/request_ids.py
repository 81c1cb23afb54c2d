"""What every request of Django's passes first: its id, on the answer and each log line, and sound input."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from audit.identifiers import uuid4

# A client's own id is kept when it is plain enough to stand in a header and a log line.
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


def request_id(given: str) -> str:
    """The client's id when it is plain, else a new one."""
    return given if PLAIN.match(given) else uuid4().hex


class RequestId:
    """Middleware for both kinds of views."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]):
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Bind the id to this context's log lines and put it on the answer."""
        identity = request_id(request.headers.get("X-Request-Id", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=identity)
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseBase):
            answer["X-Request-Id"] = identity
            return answer
        return self._signed(answer, identity)

    async def _signed(self, answer: Awaitable[HttpResponseBase], identity: str) -> HttpResponseBase:
        response = await answer
        response["X-Request-Id"] = identity
        return response


@sync_and_async_middleware
def sound_input(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Refuse a query with a NUL, which no text in PostgreSQL can equal, and state the length of a body that came in
    chunks, since Django and DRF take one without a length for none."""

    def state(request: HttpRequest) -> None:
        if "%00" in request.META.get("QUERY_STRING", "") or "\x00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The query holds a NUL.")
        if "HTTP_TRANSFER_ENCODING" in request.META:
            request.META["CONTENT_LENGTH"] = str(len(request.body))

    if iscoroutinefunction(get_response):

        async def awaited(request: HttpRequest) -> Any:
            state(request)
            return await get_response(request)

        return awaited

    def called(request: HttpRequest) -> Any:
        state(request)
        return get_response(request)

    return called
