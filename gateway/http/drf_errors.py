"""Exceptions in Django REST framework's views, answered as everywhere else."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.views import set_rollback

from gateway.http import errors, problems
from tenants.errors import Refused
from tenants.people import owners


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler; in a thread, not on an event loop."""
    set_rollback()
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    refusal = _refusal(error) if isinstance(error, exceptions.APIException) else errors.refusal_of(error)
    # Not `user`, which would authenticate again whom nobody could.
    refusal.detail = owners.named_now(getattr(context["request"]._request, "principal", None), refusal.detail)
    return problems.answer(problems.refused(refusal), refusal.status, refusal.headers)


def _refusal(error: exceptions.APIException) -> Refused:
    """What DRF itself refuses."""
    not_valid = isinstance(error, exceptions.ValidationError)
    refusal = Refused("The request is not valid." if not_valid else str(error.detail))
    refusal.status, refusal.code = error.status_code, problems.code_of(error.status_code)
    if not_valid:
        refusal.more = {"errors": error.detail}
    # DRF puts these on the exception itself.
    refusal.challenge = getattr(error, "auth_header", None)
    seconds = getattr(error, "wait", None)
    refusal.retry_after = int(seconds) if seconds else None
    return refusal
