"""Attempts to prove who one is: counted in Redis, and refused when there are too many or they cannot be counted."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_ratelimit.core import get_usage

# Retry-After of the answer while Redis is unavailable.
SECONDS_WITHOUT_COUNT = 10


def counted(
    request: HttpRequest, group: str, key: str | Callable[[str, HttpRequest], str], rate: str | None = None
) -> int:
    """Seconds that another attempt must wait, after counting this one; 0 when it need not wait.

    Raises RedisError and OSError when it cannot be counted.
    """
    usage = get_usage(request, group=group, key=key, rate=rate or settings.LOGIN_ATTEMPTS, increment=True)
    return max(usage["time_left"], 1) if usage is not None and usage["should_limit"] else 0


def later(request: HttpRequest, status: int, seconds: int) -> HttpResponse:
    """The page that says when to try again."""
    response = render(request, f"{status}.html", {"seconds": seconds}, status=status)
    response["Retry-After"] = str(seconds)
    return response
