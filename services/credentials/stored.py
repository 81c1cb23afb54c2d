"""Credentials as owners give them, and as a service's rows keep them: secrets are encrypted."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from services.errors import InvalidService
from services.oauth import exchange
from services.oauth.errors import ServerUnusable
from services.offers.headers import OWN_HEADERS
from tenants.people.encryption import encrypt

if TYPE_CHECKING:
    from services.models import Service

MAX_SECRET = 8192
MAX_SCOPES = 100
# Of `services s`, for `Credential.of_row`.
COLUMNS = "s.id AS service_id, s.slug, s.kind, s.url, s.identity, s.header, s.secret, s.oauth"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VISIBLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
# How a client comes to its id where an owner gives none.
REGISTRATIONS = ("dynamic", "metadata_document")
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "revocation_endpoint")
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    # What each type has to have, and what it may have.
    "none": (set(), set()),
    "bearer": ({"token"}, set()),
    "header": ({"name", "value"}, set()),
    "oauth_client": (
        {"client_id", "client_secret"},
        {"issuer", "token_endpoint", "revocation_endpoint", "scopes", "resource"},
    ),
    "oauth_user": (
        set(),
        {"issuer", *_ENDPOINTS, "client_id", "client_secret", "scopes", "resource", "registration"},
    ),
}


@dataclass(frozen=True, slots=True)
class Credential:
    """What a service's rows keep of a credential; `secret` is encrypted, and `oauth` what an owner said of the server.

    One that no service has yet is without `service_id`.
    """

    identity: str = "none"
    header: str = ""
    secret: str = field(default="", repr=False)
    oauth: Mapping[str, Any] = field(default_factory=dict)
    service_id: uuid.UUID | None = None
    slug: str = ""
    kind: str = ""
    url: str = ""

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "Credential":
        """Out of a row of COLUMNS."""
        names = ("identity", "header", "secret", "oauth", "service_id", "slug", "kind", "url")
        return cls(**{name: row[name] for name in names})

    @classmethod
    def of(cls, service: "Service") -> "Credential":
        """Of a service."""
        return cls(
            service.identity,
            service.header,
            service.secret,
            service.oauth,
            service.id,
            service.slug,
            service.kind,
            service.url,
        )

    @property
    def personal(self) -> bool:
        """Whether each user has one of their own."""
        return self.identity == "oauth_user"

    @property
    def is_oauth(self) -> bool:
        """Whether its tokens come from an authorization server."""
        return self.identity in ("oauth_client", "oauth_user")

    @property
    def resource(self) -> str:
        """What its tokens are asked for (RFC 8707); empty: the server is not told."""
        return str(self.oauth.get("resource", "")) or (self.url if self.kind == "mcp" else "")

    @property
    def scope(self) -> str:
        """The scopes that are asked for, as servers write them."""
        return " ".join(self.oauth.get("scopes", ()))


NONE = Credential()


def read(given: Any) -> Credential:
    """The credential in a request's body, `{"type", …}`; raises InvalidService."""
    if given is None:
        return NONE
    if not isinstance(given, dict):
        raise InvalidService("credential must be an object with a type.", "credential")
    kind = given.get("type")
    known = _FIELDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        words = "credential.type must be none, bearer, header, oauth_client or oauth_user."
        raise InvalidService(words, "credential.type")
    needed, optional = known
    has = set(given) - {"type"}
    if not needed <= has <= needed | optional:
        wanted = " and ".join(sorted(needed)) or "nothing"
        may = f", and may have {', '.join(sorted(optional))}" if optional else ""
        raise InvalidService(f"A credential of the type {kind} has {wanted} beside its type{may}.", "credential")
    if kind == "none":
        return NONE
    if kind == "bearer":
        return Credential("bearer", "", encrypt(_secret(given["token"], "credential.token")))
    if kind == "header":
        name = given["name"]
        if not isinstance(name, str) or not _HEADER.fullmatch(name) or name.lower() in OWN_HEADERS:
            raise InvalidService("credential.name must be a header that a credential can be in.", "credential.name")
        return Credential("header", name, encrypt(_secret(given["value"], "credential.value")))
    return _oauth(str(kind), given)


def _oauth(kind: str, given: dict[str, Any]) -> Credential:
    kept: dict[str, Any] = {}
    for name in ("issuer", *_ENDPOINTS, "resource"):
        if name in given:
            kept[name] = _address(given[name], f"credential.{name}")
    if "client_id" in given:
        kept["client_id"] = _secret(given["client_id"], "credential.client_id")
    kept["scopes"] = _scopes(given.get("scopes", []))
    if "registration" in given:
        if given["registration"] not in REGISTRATIONS:
            raise InvalidService("credential.registration must be dynamic or metadata_document.", "credential")
        kept["registration"] = given["registration"]
    _agree(kind, kept, "client_secret" in given)
    secret = _secret(given["client_secret"], "credential.client_secret") if "client_secret" in given else ""
    return Credential(kind, "", encrypt(secret) if secret else "", kept)


def _agree(kind: str, kept: dict[str, Any], secret: bool) -> None:
    """Raise InvalidService unless what was given leads to a server, and a secret to one that the owner has named."""
    endpoints = "token_endpoint" in kept
    if kind == "oauth_client" and not endpoints and "issuer" not in kept:
        raise InvalidService("oauth_client needs an issuer, or a token_endpoint.", "credential")
    if kind == "oauth_user":
        if endpoints != ("authorization_endpoint" in kept):
            words = "authorization_endpoint and token_endpoint are given together, or neither."
            raise InvalidService(words, "credential")
        if ("client_id" in kept) == ("registration" in kept):
            words = "oauth_user needs a client_id; or registration, where the server lets clients register themselves."
            raise InvalidService(words, "credential")
        if endpoints and "registration" in kept:
            raise InvalidService("A server whose endpoints are given needs a client_id, too.", "credential")
    if not endpoints and "revocation_endpoint" in kept:
        raise InvalidService("revocation_endpoint is given with the other endpoints.", "credential")
    if secret and not endpoints and "issuer" not in kept:
        # Else the service could name a server of its own, and be told the secret.
        raise InvalidService("A client_secret is sent to a server that you name: give its issuer.", "credential.issuer")
    if secret and "client_id" not in kept:
        raise InvalidService("A client_secret belongs to a client_id.", "credential.client_secret")


def _address(value: Any, at: str) -> str:
    try:
        return exchange.endpoint(value, at)
    except ServerUnusable as refused:
        raise InvalidService(str(refused), at) from None


def _scopes(value: Any) -> list[str]:
    if (
        not isinstance(value, list)
        or len(value) > MAX_SCOPES
        or not all(isinstance(each, str) and _SCOPE.fullmatch(each) for each in value)
    ):
        raise InvalidService("credential.scopes must be a list of scopes, without spaces in them.", "credential.scopes")
    return value


def _secret(value: Any, at: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_SECRET or not _VISIBLE.fullmatch(value):
        raise InvalidService(f"{at} must be 1 to {MAX_SECRET:,} printable ASCII characters.", at)
    return value
