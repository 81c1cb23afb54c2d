"""How Toolgate becomes a server's client where nobody has registered it: dynamically, or by a document about itself."""

from typing import Any

from services.oauth import exchange
from services.oauth.errors import GrantRefused, ServerUnusable
from services.oauth.grants import Client
from services.oauth.server import Server

NAME = "Toolgate"
_MAX = 2048


def about(redirect_uri: str, scope: str = "") -> dict[str, Any]:
    """What Toolgate says of itself as a client."""
    said = {
        "client_name": NAME,
        "redirect_uris": [redirect_uri],
        # As OpenID Connect has it: a client of the web has an https address.
        "application_type": "web" if redirect_uri.startswith("https:") else "native",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return said | ({"scope": scope} if scope else {})


async def register(server: Server, redirect_uri: str, scope: str) -> Client:
    """A new client of the server (RFC 7591). Raises OAuthFailed."""
    if not server.registration_endpoint:
        raise ServerUnusable("The authorization server lets no client register itself. An owner can give a client_id.")
    what = "The authorization server's registration endpoint"
    status, answer = await exchange.post(server.registration_endpoint, what, body=about(redirect_uri, scope))
    if status not in (200, 201):
        error = answer.get("error")
        raise GrantRefused(error if isinstance(error, str) and error.isidentifier() and len(error) < 100 else "no code")
    given, secret = answer.get("client_id"), answer.get("client_secret") or ""
    for text in (given, secret):
        if not isinstance(text, str) or len(text) > _MAX or not text.isprintable() or not text.isascii():
            raise ServerUnusable(f"{what} gave no client that can be used.")
    if not given:
        raise ServerUnusable(f"{what} gave no client_id.")
    return Client(str(given), str(secret))
