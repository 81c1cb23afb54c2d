"""One request to an authorization server: bounded, through the egress guard, no redirect followed."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from yarl import URL

from services.oauth.errors import ServerUnavailable, ServerUnusable
from tools.network import egress

CONNECT_SECONDS, SECONDS = 5.0, 10.0
MAX_BYTES = 128 * 1024


def endpoint(given: Any, what: str) -> str:
    """The address of an endpoint, as it was given; raises ServerUnusable.

    Tokens travel over TLS, except to hosts that the operator has listed.
    """
    try:
        checked = egress.check(given if isinstance(given, str) else "")
    except egress.EgressRefused as refused:
        raise ServerUnusable(f"{what} cannot be used. {refused}") from None
    if checked.fragment or "#" in str(given):
        raise ServerUnusable(f"{what} cannot be used. It has a fragment.")
    if checked.scheme != "https" and not egress.listed(checked):
        raise ServerUnusable(f"{what} cannot be used. It must begin with https://.")
    return str(given)


async def get_json(url: str, what: str, *, headers: Mapping[str, str] = {}) -> dict[str, Any] | None:
    """The JSON object at an address; None when there is nothing (404 and the like). Raises OAuthFailed."""
    answer = await _ask("GET", url, what, None, {"Accept": "application/json", **headers})
    if answer.status in (400, 401, 403, 404, 405, 406, 410):
        return None
    _usable(answer, what)
    if answer.status != 200:
        raise ServerUnusable(f"{what} answered with HTTP {answer.status}.")
    return _object(answer, what)


async def post(
    url: str, what: str, *, form: Mapping[str, str] | None = None, body: Any = None, headers: Mapping[str, str] = {}
) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object that an endpoint answers a form or a JSON body with; {} for an empty answer.

    Raises OAuthFailed.
    """
    if form is not None:
        data, kind = urlencode(form).encode(), "application/x-www-form-urlencoded"
    else:
        data, kind = json.dumps(body).encode(), "application/json"
    sent = {"Accept": "application/json", "Content-Type": kind, **headers}
    answer = await _ask("POST", url, what, data, sent)
    _usable(answer, what)
    return answer.status, (_object(answer, what) if answer.body.strip() else {})


async def _ask(method: str, url: str, what: str, data: bytes | None, headers: Mapping[str, str]) -> egress.Answer:
    address = URL(endpoint(url, what))
    try:
        return await egress.request(
            method,
            address,
            data=data,
            headers=headers,
            connect_seconds=CONNECT_SECONDS,
            seconds=SECONDS,
            most=MAX_BYTES + 1,
        )
    except egress.EgressRefused as refused:
        raise ServerUnusable(f"{what} cannot be used. {refused}") from None
    except egress.TooSlow:
        raise ServerUnavailable(f"{what} did not answer in time.") from None
    except egress.EgressFailed:
        raise ServerUnavailable(f"{what} could not be reached, or cut its answer off.") from None


def _usable(answer: egress.Answer, what: str) -> None:
    if 300 <= answer.status < 400:
        raise ServerUnusable(f"{what} answered with a redirect (HTTP {answer.status}), which is not followed.")
    if answer.status >= 500 or answer.status in (408, 425, 429):
        raise ServerUnavailable(f"{what} fails at the moment (HTTP {answer.status}).")
    if answer.encoding:
        raise ServerUnusable(f"{what} answered in a packed form that was not asked for.")
    if len(answer.body) > MAX_BYTES:
        raise ServerUnusable(f"{what} answered more than {MAX_BYTES:,} bytes.")


def _object(answer: egress.Answer, what: str) -> dict[str, Any]:
    try:
        value = json.loads(answer.body.decode())
    except (ValueError, RecursionError):
        raise ServerUnusable(f"{what} did not answer with JSON (HTTP {answer.status}).") from None
    if not isinstance(value, dict):
        raise ServerUnusable(f"{what} did not answer with a JSON object (HTTP {answer.status}).")
    return value
