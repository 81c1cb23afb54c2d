"""A server's token endpoint: tokens for a client itself, for a code, and for a refresh token; and their revocation."""

import base64
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from services.oauth import exchange
from services.oauth.errors import GrantRefused, ServerUnavailable, ServerUnusable
from services.oauth.server import Server

MAX_TOKEN = 16 * 1024
# A century: what counts days beyond that is no time.
_LONGEST = 100 * 365 * 86_400
_TOKEN = re.compile(r"[\x21-\x7e]+")
_CODE = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,100}")
_WHAT = "The authorization server's token endpoint"


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks; a public client has no secret."""

    id: str
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a grant gave; `seconds` is how long the access token is good for, None when the server does not say."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    seconds: int | None
    scope: str | None


async def for_client(server: Server, client: Client, *, scope: str, resource: str) -> Tokens:
    """Tokens of the client itself (RFC 6749, 4.4). Raises OAuthFailed."""
    return await _ask(server, client, {"grant_type": "client_credentials", "scope": scope, "resource": resource})


async def for_code(
    server: Server, client: Client, code: str, *, verifier: str, redirect_uri: str, resource: str
) -> Tokens:
    """Tokens for what an authorization in the browser brought back. Raises OAuthFailed."""
    asked = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
    return await _ask(server, client, asked | {"resource": resource})


async def identified(
    server: Server, client: Client, code: str, *, verifier: str, redirect_uri: str
) -> tuple[object, str]:
    """The ID token as it came, to be checked, and the access token, for a code of somebody who logs in.

    Raises OAuthFailed.
    """
    asked = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
    answer = await _answer(server, client, asked)
    return answer.get("id_token"), _token(answer.get("access_token"), "access token")


async def refreshed(server: Server, client: Client, refresh: str, *, resource: str) -> Tokens:
    """New tokens; the refresh token stays where the answer has none. Raises OAuthFailed."""
    asked = {"grant_type": "refresh_token", "refresh_token": refresh, "resource": resource}
    found = await _ask(server, client, asked)
    return found if found.refresh else Tokens(found.access, refresh, found.seconds, found.scope)


async def revoke(server: Server, client: Client, token: str, hint: str) -> None:
    """Tell the server that a token is not used any more (RFC 7009). Raises OAuthFailed."""
    form, headers = _authenticated(server, client)
    form |= {"token": token, "token_type_hint": hint}
    status, answer = await exchange.post(
        server.revocation_endpoint, "The authorization server's revocation endpoint", form=form, headers=headers
    )
    if status != 200:
        raise GrantRefused(_error(answer, status))


async def _answer(server: Server, client: Client, asked: dict[str, str]) -> dict[str, Any]:
    form, headers = _authenticated(server, client)
    form |= {name: value for name, value in asked.items() if value}
    status, answer = await exchange.post(server.token_endpoint, _WHAT, form=form, headers=headers)
    if status != 200 or "error" in answer:
        raise GrantRefused(_error(answer, status))
    return answer


async def _ask(server: Server, client: Client, asked: dict[str, str]) -> Tokens:
    answer = await _answer(server, client, asked)
    kind = answer.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise ServerUnusable(f"{_WHAT} gave a token that is not a bearer's.")
    return Tokens(
        access=_token(answer.get("access_token"), "access token"),
        refresh=_token(answer["refresh_token"], "refresh token") if answer.get("refresh_token") else "",
        seconds=_seconds(answer.get("expires_in")),
        scope=answer["scope"][:2000] if isinstance(answer.get("scope"), str) else None,
    )


def _authenticated(server: Server, client: Client) -> tuple[dict[str, str], dict[str, str]]:
    """What a form has of the client, and the headers."""
    if not client.secret:
        return {"client_id": client.id}, {}
    if server.methods and "client_secret_basic" not in server.methods:
        if "none" in server.methods and "client_secret_post" not in server.methods:
            # It gave a secret to a client that registered itself as one without.
            return {"client_id": client.id}, {}
        if "client_secret_post" not in server.methods:
            raise ServerUnusable("The authorization server takes no client secret, in a header or in a form.")
        return {"client_id": client.id, "client_secret": client.secret}, {}
    # RFC 6749, 2.3.1: each part as in a form, before they are put together.
    pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
    return {}, {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _error(answer: dict[str, Any], status: int) -> str:
    """The error code; a description may repeat what it was sent, and is not passed on."""
    code = answer.get("error")
    if isinstance(code, str) and _CODE.fullmatch(code):
        return code
    if not 400 <= status < 500:
        raise ServerUnavailable(f"{_WHAT} answered with HTTP {status}.")
    raise ServerUnusable(f"{_WHAT} answered with HTTP {status}, and no error code.")


def _token(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TOKEN or not _TOKEN.fullmatch(value):
        raise ServerUnusable(f"{_WHAT} gave no {what} that can be sent.")
    return value


def _seconds(value: Any) -> int | None:
    """Servers write it as a text, too."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,12}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return int(min(value, _LONGEST))
