"""As whom a service is called: credentials as owners give them, encrypted where they are kept, and as headers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from services.errors import InvalidService, NotBuilt
from services.offers.headers import OWN_HEADERS
from tenants.people.encryption import decrypt, encrypt

MAX_SECRET = 8192
# A shorter one would be found in any text, and so be taken out of answers that do not hold it.
_LEAST_HIDDEN = 4
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VISIBLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a service's rows keep of a credential; `secret` is encrypted."""

    identity: str = "none"
    header: str = ""
    secret: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """What a request is sent with. Raises Undecipherable."""
        if self.identity == "bearer":
            return {"Authorization": f"Bearer {decrypt(self.secret)}"}
        return {self.header: decrypt(self.secret)} if self.identity == "header" else {}


NONE = Credential()


def read(given: Any) -> Credential:
    """The credential in a request's body, `{"type", …}`; raises InvalidService."""
    if given is None:
        return NONE
    if not isinstance(given, dict):
        raise InvalidService("credential must be an object with a type.", "credential")
    kind = given.get("type")
    if kind in ("oauth_client", "oauth_user"):
        words = f"Credentials of the type {kind} are not supported yet; use bearer or header."
        raise NotBuilt(words, "credential.type")
    fields = {"none": set(), "bearer": {"token"}, "header": {"name", "value"}}.get(str(kind))
    if fields is None:
        raise InvalidService("credential.type must be none, bearer or header.", "credential.type")
    if set(given) - {"type"} != fields:
        wanted = " and ".join(sorted(fields)) or "nothing"
        raise InvalidService(f"A credential of the type {kind} has {wanted} beside its type.", "credential")
    if kind == "none":
        return NONE
    if kind == "bearer":
        return Credential("bearer", "", encrypt(_secret(given["token"], "credential.token")))
    name = given["name"]
    if not isinstance(name, str) or not _HEADER.fullmatch(name) or name.lower() in OWN_HEADERS:
        raise InvalidService("credential.name must be a header that a credential can be in.", "credential.name")
    return Credential("header", name, encrypt(_secret(given["value"], "credential.value")))


def _secret(value: Any, at: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_SECRET or not _VISIBLE.fullmatch(value):
        raise InvalidService(f"{at} must be 1 to {MAX_SECRET:,} printable ASCII characters.", at)
    return value


def hidden(text: str, headers: Mapping[str, str]) -> str:
    """The text without the credential that the headers hold, should a service have repeated it."""
    for value in headers.values():
        for secret in {value, value.rpartition(" ")[2]}:
            if len(secret) >= _LEAST_HIDDEN:
                text = text.replace(secret, "[credential]")
    return text
