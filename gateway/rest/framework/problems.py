"""Errors as RFC 9457 problem+json, each with a stable `code`."""

import http
import logging
from typing import Any

import django.db
import orjson
import psycopg
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.views import set_rollback

from gateway.rest.framework import rendering
from gateway.runs.errors import Unavailable
from tenants.errors import Refused

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
FAILED = "Toolgate failed to answer. The failure was recorded."
_CODES = {
    400: "invalid_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "content_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
# Codes that no refusal has: a failed run's, a failure of ours, and the one of statuses without a code of their own.
_MORE_CODES = ("provider_error", "mixed_tool_calls", "internal_error", "error")


def problem(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """A problem document; `code` is stable and for programs, `detail` is for people."""
    return {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "code": code,
            "detail": detail, **more}  # fmt: skip


def codes() -> list[str]:
    """Every code that a problem may have, sorted; those of the compatible APIs are not problems."""
    refusals, found = [Refused], set(_CODES.values()) | set(_MORE_CODES)
    while refusals:
        refusal = refusals.pop()
        refusals += refusal.__subclasses__()
        if not refusal.__module__.startswith("gateway.compat."):
            found.add(refusal.code)
    return sorted(found)


def code_of(status: int) -> str:
    """The code of a status that has nothing more to say."""
    return _CODES.get(status, "error")


def refused(refusal: Refused) -> dict[str, Any]:
    """The problem document of a refused request."""
    field = {"field": refusal.field} if refusal.field else {}
    return problem(refusal.status, refusal.code, refusal.detail, **field, **refusal.more)


def unavailable(error: Exception) -> Unavailable:
    """The refusal of a request that found the database away."""
    log.warning("database away", extra={"why": type(error).__name__})
    return Unavailable()


def answer(body: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """A problem as an answer: always JSON, whatever form the route's other answers have."""
    data = orjson.dumps(body, default=rendering.plain)
    return HttpResponse(data, status=status, headers=headers or {}, content_type=CONTENT_TYPE)


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler."""
    if isinstance(error, psycopg.OperationalError | django.db.OperationalError):
        error = unavailable(error)
    if isinstance(error, Refused):
        set_rollback()
        headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Unavailable) else {}
        return answer(refused(error), error.status, headers)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    set_rollback()
    if not isinstance(error, exceptions.APIException):
        log.exception("request failed", exc_info=error)
        return answer(problem(500, "internal_error", FAILED), 500)
    status = error.status_code
    headers = {}
    # DRF puts these on the exception itself.
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if seconds := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(seconds))
    body = problem(status, code_of(status), _detail(error), **_fields(error))
    return answer(body, status, headers)


@csrf_exempt
def nowhere(request: HttpRequest) -> JsonResponse:
    """What every address under /api/ that is none answers."""
    body = problem(404, "not_found", "There is nothing at this address; see /api/docs/.")
    return JsonResponse(body, status=404, content_type=CONTENT_TYPE)


def _detail(error: exceptions.APIException) -> str:
    if isinstance(error, exceptions.ValidationError):
        return "The request is not valid."
    return str(error.detail)


def _fields(error: exceptions.APIException) -> dict[str, Any]:
    return {"errors": error.detail} if isinstance(error, exceptions.ValidationError) else {}
