"""What an OpenID provider says of itself, and its keys; asked anew at each log-in, so that new keys count at once."""

from dataclasses import dataclass
from typing import Any

from services.oauth import exchange
from services.oauth.errors import ServerUnusable
from services.oauth.server import Server

MOST_KEYS = 100
_WHAT = "The provider's metadata"


@dataclass(frozen=True, slots=True)
class Provider:
    """An authorization server that identifies people; `userinfo` is empty where it has none."""

    server: Server
    jwks_uri: str
    userinfo: str


async def provider(issuer: str) -> Provider:
    """The provider of an issuer. Raises OAuthFailed."""
    exchange.endpoint(issuer, "The issuer")
    found = await exchange.get_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration", _WHAT)
    if found is None:
        raise ServerUnusable("The issuer publishes no OpenID metadata (/.well-known/openid-configuration).")
    if found.get("issuer") != issuer:
        raise ServerUnusable("The provider's metadata names another issuer than the one that was asked.")
    pkce = found.get("code_challenge_methods_supported")
    if pkce is not None and (not isinstance(pkce, list) or "S256" not in pkce):
        raise ServerUnusable("The provider does not know PKCE with S256.")
    methods = found.get("token_endpoint_auth_methods_supported")

    def endpoint(name: str) -> str:
        return exchange.endpoint(found.get(name), f"The provider's {name}")

    server = Server(
        issuer=issuer,
        token_endpoint=endpoint("token_endpoint"),
        authorization_endpoint=endpoint("authorization_endpoint"),
        methods=tuple(each for each in methods if isinstance(each, str)) if isinstance(methods, list) else (),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
    )
    userinfo = endpoint("userinfo_endpoint") if found.get("userinfo_endpoint") is not None else ""
    return Provider(server, endpoint("jwks_uri"), userinfo)


async def keys(found: Provider) -> list[dict[str, Any]]:
    """Its public keys, as JSON Web Keys. Raises OAuthFailed."""
    answer = await exchange.get_json(found.jwks_uri, "The provider's keys")
    keys = answer.get("keys") if answer is not None else None
    if not isinstance(keys, list) or len(keys) > MOST_KEYS or not all(isinstance(each, dict) for each in keys):
        raise ServerUnusable("The provider publishes no keys that can be used.")
    return keys


async def userinfo(found: Provider, access_token: str) -> dict[str, Any]:
    """What it says of the person beside the ID token; {} where it says nothing. Raises OAuthFailed."""
    headers = {"Authorization": f"Bearer {access_token}"}
    return await exchange.get_json(found.userinfo, "The provider's userinfo endpoint", headers=headers) or {}
