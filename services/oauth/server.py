"""An authorization server, as far as a client has to know it."""

from dataclasses import asdict, dataclass
from typing import Any

from yarl import URL


@dataclass(frozen=True, slots=True)
class Server:
    """Its endpoints; empty where it has none. `methods` is how clients prove who they are at its token endpoint.

    `names_itself`: its answers through the browser hold its issuer (RFC 9207). `known`: the issuer was given or
    discovered, and not only made of an endpoint. `documents`: it takes a URL as a client's id.
    """

    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    revocation_endpoint: str = ""
    registration_endpoint: str = ""
    methods: tuple[str, ...] = ()
    names_itself: bool = False
    known: bool = True
    documents: bool = False

    def as_json(self) -> dict[str, Any]:
        """As rows keep it."""
        return asdict(self)

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> "Server":
        """Out of `as_json`."""
        return cls(**(kept | {"methods": tuple(kept["methods"])}))


def of_endpoints(token_endpoint: str, authorization_endpoint: str, revocation_endpoint: str, issuer: str) -> Server:
    """A server that publishes nothing; without an issuer it is known by where its tokens come from."""
    return Server(
        issuer=issuer or str(URL(token_endpoint).origin()),
        token_endpoint=token_endpoint,
        authorization_endpoint=authorization_endpoint,
        revocation_endpoint=revocation_endpoint,
        known=bool(issuer),
    )
