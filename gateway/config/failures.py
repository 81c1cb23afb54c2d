"""The answers to requests that Django's views failed to answer."""

import sys

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.template import loader
from django.views.defaults import bad_request, server_error

from gateway.http import errors, problems
from tenants.people import owners

API = "/api/"


def senseless(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400."""
    if request.path.startswith(API):
        body = problems.problem(400, "invalid_request", "The request is not valid.")
        return JsonResponse(body, status=400, content_type=problems.CONTENT_TYPE)
    return bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403, with the names of owners where its words send a member to one."""
    words = (
        str(exception)
        or "You are logged in, but your role does not include this. An owner of your tenant can change it."
    )
    named = owners.named_now(getattr(request, "principal", None), words)
    return HttpResponseForbidden(loader.render_to_string("403.html", {"exception": named}, request))


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler500: 503 with `Retry-After` when no connection to the database was to be had, else 500."""
    error = sys.exc_info()[1]
    for_programs = request.path.startswith(API)
    if isinstance(error, errors.DATABASE_AWAY):
        refusal = errors.refusal_of(error)
        headers = {**refusal.headers, "Cache-Control": "no-store"}
        if for_programs:
            body = problems.refused(refusal)
            return JsonResponse(body, status=503, headers=headers, content_type=problems.CONTENT_TYPE)
        # Without the request: who it is from would be asked of the database.
        page = loader.render_to_string("unavailable.html", {"seconds": refusal.retry_after})
        return HttpResponse(page, status=503, headers=headers)
    if for_programs:
        body = problems.refused(errors.Failed())
        return JsonResponse(body, status=500, content_type=problems.CONTENT_TYPE)
    return server_error(request)
