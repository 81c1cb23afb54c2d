"""Errors as RFC 9457 problem+json, each with a stable `code`."""

import http
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from gateway.http import rendering
from gateway.http.asgi import Answer
from tenants.errors import Refused

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
# Codes that no refusal has: a failed run's, a failure of ours, and the one of statuses without a code of their own.
_MORE_CODES = ("provider_error", "mixed_tool_calls", "internal_error", "error")


def problem(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """A problem document; `code` is stable and for programs, `detail` is for people."""
    return {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "code": code,
            "detail": detail, **more}  # fmt: skip


def codes() -> list[str]:
    """Every code that a problem may have, sorted; refusals of the compatible APIs and of /mcp are not problems."""
    refusals, found = [Refused], set(_CODES.values()) | set(_MORE_CODES)
    while refusals:
        refusal = refusals.pop()
        refusals += refusal.__subclasses__()
        if not refusal.__module__.startswith(("gateway.compat.", "gateway.mcp.")):
            found.add(refusal.code)
    return sorted(found)


def code_of(status: int) -> str:
    """The code of a status that has nothing more to say."""
    return _CODES.get(status, "error")


def refused(refusal: Refused) -> dict[str, Any]:
    """The problem document of a refused request."""
    field = {"field": refusal.field} if refusal.field else {}
    return problem(refusal.status, refusal.code, refusal.detail, **field, **refusal.more)


def answer(body: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """A problem as an answer: always JSON, whatever form the route's other answers have."""
    # Errors of a list are named by their place in it.
    data = orjson.dumps(body, default=rendering.plain, option=orjson.OPT_NON_STR_KEYS)
    return HttpResponse(data, status=status, headers=headers or {}, content_type=CONTENT_TYPE)


@csrf_exempt
def nowhere(request: HttpRequest) -> JsonResponse:
    """What every address under /api/ that is none answers."""
    body = problem(404, "not_found", "There is nothing at this address; see /api/docs/.")
    return JsonResponse(body, status=404, content_type=CONTENT_TYPE)


class Problems:
    """The form of our own API's answers; see `gateway.http.asgi.Form`."""

    id_headers: tuple[bytes, ...] = (b"x-request-id",)

    def refusal(self, refused_request: Refused) -> Answer:
        """A problem document."""
        content = refused(refused_request)
        return Answer(refused_request.status, content, refused_request.headers, CONTENT_TYPE)
