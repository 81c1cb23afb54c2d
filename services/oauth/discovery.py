"""What servers publish: metadata of an authorization server (RFC 8414, OpenID), and whom a resource trusts (RFC 9728).

Whoever answers may lie: metadata counts only where it names the very issuer, or resource, that it was asked about.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yarl import URL

from services.oauth import exchange
from services.oauth.errors import OAuthFailed, ServerUnavailable, ServerUnusable
from services.oauth.server import Server
from tools.network import egress

_RESOURCE_METADATA = re.compile(r'resource_metadata\s*=\s*(?:"([^"]{1,2048})"|([^\s,"]{1,2048}))', re.IGNORECASE)
_INSUFFICIENT = re.compile(r'(?:^|[\s,])error\s*=\s*"?insufficient_scope"?(?:[\s,]|$)', re.IGNORECASE)
_CHALLENGED_SCOPE = re.compile(r'(?:^|[\s,])scope\s*=\s*"([^"]{1,2048})"', re.IGNORECASE)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_SCOPES = 100
_MOST_SERVERS = 10
_MOST_SAID = 4096
_LISTING = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'


async def server(issuer: str, *, strict: bool = False) -> Server:
    """The authorization server of an issuer; raises OAuthFailed.

    When `strict` it has to say that it knows PKCE: an owner did not choose it.
    """
    exchange.endpoint(issuer, "The issuer")
    for url in _places(issuer):
        found = await exchange.get_json(url, "The authorization server's metadata")
        if found is not None:
            return _read(issuer, found, strict)
    raise ServerUnusable("The issuer publishes no metadata (RFC 8414, or OpenID's). Give its endpoints instead.")


@dataclass(frozen=True, slots=True)
class Protected:
    """What a resource says of itself: whom it trusts, what it calls itself, and the scopes that its use needs."""

    issuer: str
    resource: str
    scope: str


async def protected(resource: str, *, mcp: bool = False) -> Protected:
    """What a protected resource says of itself; one that speaks `mcp` may refuse messages alone. Raises OAuthFailed."""
    challenge = await _challenge(resource, mcp=mcp)
    for url in [*_challenged(challenge, resource), *_resource_places(resource)]:
        found = await exchange.get_json(url, "The service's metadata")
        if found is None:
            continue
        named = found.get("resource")
        if not isinstance(named, str) or not covers(named, resource):
            raise ServerUnusable("The service's metadata is about another resource.")
        issuers = found.get("authorization_servers")
        if not isinstance(issuers, list) or not issuers or not all(isinstance(each, str) for each in issuers):
            raise ServerUnusable("The service's metadata names no authorization server.")
        issuer = exchange.endpoint(issuers[:_MOST_SERVERS][0], "The issuer")
        return Protected(issuer, named, _scope_of(challenge, found.get("scopes_supported")))
    raise ServerUnusable("The service does not say which authorization server it trusts. Give its issuer.")


async def _challenge(resource: str, *, mcp: bool) -> str:
    """What a refusal of the resource says; "" where it refuses nothing."""
    address = exchange.endpoint(resource, "The service's address")
    client = egress.Client(keeps=False)
    headers = {"Accept": "application/json, text/event-stream"}
    asked: list[tuple[str, bytes | None, dict[str, str]]] = [("GET", None, headers)]
    if mcp:
        # What has no effect; some servers answer nothing but POST, and some `initialize` to everybody.
        asked.append(("POST", _LISTING, headers | {"Content-Type": "application/json"}))
    try:
        for method, data, sent in asked:
            async with client.exchange(
                method,
                address,
                data=data,
                headers=sent,
                connect_seconds=exchange.CONNECT_SECONDS,
                seconds=exchange.SECONDS,
            ) as answer:
                if answer.status == 401:
                    named = [value for name, value in answer.headers.items() if name.lower() == "www-authenticate"]
                    return ", ".join(named)[:_MOST_SAID]
    except egress.EgressFailed as failed:
        raise ServerUnavailable(f"The service did not answer. {failed}") from None
    finally:
        await client.close()
    return ""


def missing_scope(status: int, headers: Mapping[str, str]) -> str:
    """The scopes that a resource says a token lacks, separated by spaces; "" where it says nothing of it (RFC 6750)."""
    challenge = headers.get("WWW-Authenticate", "")[:_MOST_SAID]
    if status != 403 or _INSUFFICIENT.search(challenge) is None or _CHALLENGED_SCOPE.search(challenge) is None:
        return ""
    return _scope_of(challenge, None)


def _scope_of(challenge: str, supported: Any) -> str:
    """The scopes to ask for where an owner names none: those of the challenge, else all that there are."""
    if (found := _CHALLENGED_SCOPE.search(challenge)) is not None:
        said = found.group(1).split()
    else:
        said = [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []
    return " ".join(each for each in said[:_MOST_SCOPES] if _SCOPE.fullmatch(each))


def _challenged(challenge: str, resource: str) -> list[str]:
    """Where a challenge of the resource says that its metadata is: on its own host only."""
    found = _RESOURCE_METADATA.search(challenge)
    if found is None:
        return []
    named = found.group(1) or found.group(2)
    try:
        exchange.endpoint(named, "The service's metadata")
    except OAuthFailed:
        return []
    return [named] if URL(named).origin() == URL(resource).origin() else []


def _places(issuer: str) -> Iterator[str]:
    origin, path = str(URL(issuer).origin()), URL(issuer).raw_path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _resource_places(resource: str) -> Iterator[str]:
    origin, path = str(URL(resource).origin()), URL(resource).raw_path.rstrip("/")
    if path:
        yield f"{origin}/.well-known/oauth-protected-resource{path}"
    yield f"{origin}/.well-known/oauth-protected-resource"


def covers(named: str, resource: str) -> bool:
    """Whether metadata about `named` is about the resource: the same, or what is above it on the same host."""
    try:
        whole, part = URL(named), URL(resource)
        if not whole.is_absolute() or whole.origin() != part.origin() or whole.query_string or whole.fragment:
            return False
    except ValueError:
        return False
    above, below = whole.raw_path.rstrip("/"), part.raw_path.rstrip("/")
    return above == below or below.startswith(f"{above}/")


def _read(issuer: str, found: dict[str, Any], strict: bool) -> Server:
    if found.get("issuer") != issuer:
        raise ServerUnusable("The authorization server's metadata names another issuer than the one that was asked.")
    pkce = found.get("code_challenge_methods_supported")
    if (pkce is not None or strict) and (not isinstance(pkce, list) or "S256" not in pkce):
        raise ServerUnusable("The authorization server does not say that it knows PKCE with S256.")
    methods = found.get("token_endpoint_auth_methods_supported")

    def optional(name: str) -> str:
        return exchange.endpoint(found[name], f"The server's {name}") if found.get(name) is not None else ""

    return Server(
        issuer=issuer,
        token_endpoint=exchange.endpoint(found.get("token_endpoint"), "The server's token_endpoint"),
        authorization_endpoint=optional("authorization_endpoint"),
        revocation_endpoint=optional("revocation_endpoint"),
        registration_endpoint=optional("registration_endpoint"),
        methods=tuple(each for each in methods if isinstance(each, str)) if isinstance(methods, list) else (),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        documents=found.get("client_id_metadata_document_supported") is True,
    )
