"""Detects a proxy whose headers do not count, because TRUSTED_PROXIES does not name its address.

The server in front of Django takes scheme and address from X-Forwarded-… of trusted proxies only. So a request that
claims HTTPS and is plain HTTP here came from an unnamed proxy, or from somebody who invented the header: a hint for the
operator, and no basis for any decision.
"""

import logging
import time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

log = logging.getLogger(__name__)

# Whoever invents the header must not fill the log.
WARN_SECONDS = 60.0
_warned_at = -WARN_SECONDS


def untrusted(request: HttpRequest) -> str:
    """The address of a proxy that TRUSTED_PROXIES does not name and that received the request over HTTPS; else ""."""
    scheme = request.headers.get("X-Forwarded-Proto", "").rpartition(",")[2].strip().lower()
    forwarded = scheme == "https" or "proto=https" in request.headers.get("Forwarded", "").lower()
    # Not `request.scheme`, which uses the header once any proxy is trusted.
    here = getattr(request, "scope", {}).get("scheme", "https")
    return str(request.META.get("REMOTE_ADDR", "")) if forwarded and here == "http" else ""


def warn(request: HttpRequest) -> str:
    """The same, and a line in the log, at most one a minute."""
    global _warned_at
    address = untrusted(request)
    if address and time.monotonic() - _warned_at >= WARN_SECONDS:
        _warned_at = time.monotonic()
        log.warning(
            "A proxy at %s says that requests come over HTTPS, and it is not in TRUSTED_PROXIES: its headers do not "
            "count, so log-in fails. Set TRUSTED_PROXIES=%s if it is yours.",
            address,
            address,
        )
    return address


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a refused form; it names the proxy when that is the cause."""
    return render(request, "403_csrf.html", {"proxy": warn(request)}, status=403)
