"""Errors as RFC 9457 problem+json, each with a stable `code`."""

import http
import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from gateway.errors import Refused
from gateway.providers.registry import UnknownModel

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
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


def problem(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """A problem document; `code` is stable and for programs, `detail` is for people."""
    return {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "code": code,
            "detail": detail, **more}  # fmt: skip


def refused(refusal: Refused) -> dict[str, Any]:
    """The problem document of a refused request."""
    more = {"field": refusal.field} if refusal.field else {}
    return problem(refusal.status, refusal.code, refusal.detail, **more)


def unknown_model(unknown: UnknownModel) -> dict[str, Any]:
    """The problem document of a request for a model that no provider has."""
    return problem(404, "unknown_model", unknown.message, field="model")


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler."""
    if isinstance(error, Refused):
        set_rollback()
        return Response(refused(error), error.status, content_type=CONTENT_TYPE)
    if isinstance(error, UnknownModel):
        set_rollback()
        return Response(unknown_model(error), 404, content_type=CONTENT_TYPE)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    status = error.status_code
    headers = {}
    # DRF puts these on the exception itself.
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if seconds := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(seconds))
    body = problem(status, _CODES.get(status, "error"), _detail(error), **_fields(error))
    return Response(body, status, headers=headers, content_type=CONTENT_TYPE)


def _detail(error: exceptions.APIException) -> str:
    if isinstance(error, exceptions.ValidationError):
        return "The request is not valid."
    return str(error.detail)


def _fields(error: exceptions.APIException) -> dict[str, Any]:
    return {"errors": error.detail} if isinstance(error, exceptions.ValidationError) else {}
