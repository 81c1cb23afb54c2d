"""The way through a browser: the address that a person is sent to, and what must come back (RFC 6749, 7636, 9207)."""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field

from yarl import URL

from services.oauth import exchange
from services.oauth.errors import ServerUnusable
from services.oauth.server import Server


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt is recognised by; neither is ever shown again."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)


def url(server: Server, attempt: Attempt, *, client_id: str, redirect_uri: str, scope: str, resource: str) -> str:
    """Where the person is sent. Raises ServerUnusable."""
    where = exchange.endpoint(server.authorization_endpoint, "The server's authorization endpoint")
    challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": scope,
        "state": attempt.state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": resource,
    }
    return str(URL(where).update_query({name: value for name, value in asked.items() if value}))


def check_issuer(server: Server, iss: str | None) -> None:
    """Whether what came back is from this server, and not from another that the person also uses.

    Raises ServerUnusable; also when it names an issuer, and nobody has said which one is right.
    """
    if iss is None:
        if server.names_itself:
            raise ServerUnusable("The answer does not name the authorization server that it is from.")
    elif not server.known:
        raise ServerUnusable("The answer names an issuer, and the service's credential none. An owner can add it.")
    elif iss != server.issuer:
        raise ServerUnusable("The answer is from another authorization server than the one that was asked.")
