"""A provider's failures, in Toolgate's own words.

A provider's own message may quote keys, headers and addresses, so only its explanation of a refused
request is passed on, scrubbed; and the SDK's exception is never chained, because its request holds all three.
"""

import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

from gateway.providers.errors import (
    ProviderError,
    ProviderMisconfigured,
    ProviderRateLimited,
    ProviderRefused,
    ProviderUnavailable,
)

_LONGEST = 200
_READ = 2000
_PRIVATE = re.compile(
    r"\S*://\S+|(?i:bearer|basic)\s+\S+|\b(?:sk|pk|rk|org|proj|sess)[-_][\w*.\-]{4,}"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-fA-F:]*::?[0-9a-fA-F:.]*\](?::\d+)?"
)
_REFUSALS = ("invalid_request", "authentication", "permission", "not_found", "too_large", "billing")


class Failures:
    """One provider's failures; `secrets` are texts that no message may contain."""

    def __init__(self, provider: str, secrets: tuple[str, ...]):
        self._provider = provider
        self._secrets = [secret for secret in secrets if secret]

    def of_status(self, status: int, headers: Mapping[str, str], body: object) -> ProviderError:
        """The failure of an HTTP status of 300 or more."""
        if status == 429:
            return ProviderRateLimited(
                f"{self._provider} asks to slow down (HTTP 429).", status=status, retry_after=retry_after(headers)
            )
        if status >= 500 or status == 408:
            return ProviderUnavailable(
                f"{self._provider} cannot answer now (HTTP {status}).", status=status, retry_after=retry_after(headers)
            )
        if status in (401, 403):
            refused = ProviderMisconfigured if status == 401 else ProviderRefused
            return refused(
                f"{self._provider} does not accept the configured credentials (HTTP {status}).", status=status
            )
        if status < 400:
            return ProviderRefused(
                f"{self._provider} answered with a redirect (HTTP {status}), and those are not followed.", status=status
            )
        refused = ProviderMisconfigured if status == 402 else ProviderRefused
        return refused(f"{self._provider} refused the request (HTTP {status}){self._explanation(body)}", status=status)

    def of_report(self, error: object) -> ProviderError:
        """The failure of an error inside an answer with status 200."""
        report = error if isinstance(error, Mapping) else {"message": error}
        kind = f"{report.get('type')} {report.get('code')}".lower()
        status = report.get("code")
        if isinstance(status, int) and 400 <= status <= 599:
            return self.of_status(status, {}, {"error": report})
        if "rate_limit" in kind:
            return ProviderRateLimited(f"{self._provider} asks to slow down.")
        if any(word in kind for word in _REFUSALS):
            return ProviderRefused(f"{self._provider} refused the request{self._explanation({'error': report})}")
        return ProviderUnavailable(f"{self._provider} broke its answer off with an error of its own.")

    def of_connection(self, error: BaseException) -> ProviderError:
        """The failure of a lost, refused or silent connection."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, TimeoutError):
                return ProviderUnavailable(f"{self._provider} did not answer in time.")
            cause = cause.__cause__
        return ProviderUnavailable(f"{self._provider} could not be reached, or the connection was lost.")

    def of_address(self) -> ProviderError:
        """The failure of an address that a tenant named and Toolgate does not connect to."""
        return ProviderMisconfigured(
            f"The address of {self._provider} leads to no public host, so Toolgate does not connect to it. An owner "
            "can change it under Settings, Models; the operator can allow private addresses (TOOLGATE_EGRESS_ALLOW)."
        )

    def of_silence(self, seconds: float) -> ProviderError:
        """The failure of an answer that began, and then sent nothing for so many seconds."""
        return ProviderUnavailable(
            f"{self._provider} fell silent in the middle of its answer, for {seconds:g} seconds."
        )

    def _explanation(self, body: object) -> str:
        error = body.get("error", body) if isinstance(body, Mapping) else None
        message = error.get("message") if isinstance(error, Mapping) else error
        if not isinstance(message, str) or isinstance(body, str):
            return "."
        for secret in self._secrets:
            message = message.replace(secret, "…")
        message = " ".join(_PRIVATE.sub("…", message[:_READ]).split())
        message = "".join(character for character in message if character.isprintable())
        return f": {message[:_LONGEST]}" if message else "."


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the provider asks us to wait, from `Retry-After` in seconds or as a date, or None."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        date = parsedate_tz(value)
        if date is None:
            return None
        try:
            seconds = mktime_tz(date) - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
