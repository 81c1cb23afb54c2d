"""Errors in the shape of OpenAI's."""

from typing import Any

# What OpenAI calls some of our errors; clients look at these codes.
_CODES = {
    "unknown_model": "model_not_found",
    "unknown_agent": "model_not_found",
    "rate_limited": "rate_limit_exceeded",
}
_TYPES = {429: "rate_limit_error", 503: "service_unavailable_error"}


def body(status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
    """`{"error": {message, type, param, code}}`; a request that is only invalid has no code, as at OpenAI."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    named = _CODES.get(code, code)
    if status == 401:
        named = "invalid_api_key"
    return {
        "error": {
            "message": message,
            "type": kind,
            "param": field,
            "code": None if named == "invalid_request" else named,
        }
    }
