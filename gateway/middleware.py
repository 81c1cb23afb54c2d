"""Gives every request an id, answered in `X-Request-Id` and written on each log line."""

import re
import uuid
from collections.abc import Awaitable, Callable

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# A client's own id is kept when it is plain enough to stand in a header and a log line.
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


def request_id(given: str) -> str:
    """The client's id when it is plain, else a new one."""
    return given if PLAIN.match(given) else uuid.uuid4().hex


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
