"""A provider as somebody wants it to be: read out of what was sent, checked field by field, not saved yet."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from yarl import URL

from gateway.providers import patterns
from gateway.providers.routing.clients import ADDRESSES
from gateway.providers.routing.errors import InvalidProvider
from gateway.providers.routing.models import ModelProvider
from tenants.people import encryption
from tenants.people.encryption import Undecipherable
from tools.network import egress
from tools.network.egress import EgressRefused

KINDS = tuple(ModelProvider.Kind.values)
FIELDS = ("slug", "kind", "base_url", "api_key", "models", "enabled")
MOST_LISTED = 500
MOST_KEY_CHARACTERS = 4096
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
# The offline model is nobody's to replace.
_RESERVED = frozenset({"offline", "toolgate"})


@dataclass(frozen=True, slots=True)
class WantedProvider:
    """A provider that was checked. `own`: a tenant's, whose address has to be public. `key_given`: the key is new."""

    own: bool
    slug: str
    kind: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    models: tuple[str, ...] | None = None
    enabled: bool = True
    key_given: bool = False

    @property
    def address(self) -> str:
        """Where it is asked."""
        return self.base_url or ADDRESSES[self.kind]

    @property
    def guarded(self) -> bool:
        """Whether its address is a tenant's."""
        return self.own and bool(self.base_url)


def new(given: dict[str, Any], *, own: bool) -> WantedProvider:
    """A provider that is not there yet. Raises InvalidProvider."""
    slug = given.get("slug")
    if not isinstance(slug, str) or not _SLUG.fullmatch(slug) or slug in _RESERVED:
        raise InvalidProvider(
            "slug must be 1 to 32 characters a-z, 0-9 and -, with no - at its ends, and none of "
            f"{', '.join(sorted(_RESERVED))}.",
            "slug",
        )
    return _checked(WantedProvider(own, slug, ""), {"kind": None} | given)


def changed(row: ModelProvider, given: dict[str, Any]) -> WantedProvider:
    """A provider as it is, with other values. Raises InvalidProvider.

    A key goes to another host, or to another vendor's API, only when it is given anew: whoever may change the address
    need not know it.
    """
    if "slug" in given and given["slug"] != row.slug:
        raise InvalidProvider("slug cannot be changed: models are named by it. Add another provider.", "slug")
    try:
        key = encryption.decrypt(row.api_key) if row.api_key else ""
    except Undecipherable:
        key = ""
    listed = None if row.listed is None else tuple(row.listed)
    present = WantedProvider(row.tenant_id is not None, row.slug, row.kind, row.base_url, key, listed, row.enabled)
    wanted = _checked(present, {name: value for name, value in given.items() if name != "slug"})
    elsewhere = URL(wanted.address).origin() != URL(present.address).origin() or wanted.kind != present.kind
    if elsewhere and row.api_key and not wanted.key_given:
        raise InvalidProvider(
            "The key was given for another address: give it anew, or an empty one, together with the new address.",
            "api_key",
        )
    return wanted


def _checked(wanted: WantedProvider, given: dict[str, Any]) -> WantedProvider:
    for name, value in given.items():
        if name == "kind":
            if value not in KINDS:
                raise InvalidProvider(f"kind must be one of {', '.join(KINDS)}.", "kind")
            wanted = replace(wanted, kind=value)
        elif name == "base_url":
            wanted = replace(wanted, base_url=_address(value, wanted.own))
        elif name == "api_key":
            wanted = replace(wanted, api_key=_key(value), key_given=True)
        elif name == "models":
            wanted = replace(wanted, models=_models(value))
        elif name == "enabled":
            if not isinstance(value, bool):
                raise InvalidProvider("enabled must be true or false.", "enabled")
            wanted = replace(wanted, enabled=value)
        elif name != "slug":
            raise InvalidProvider(f"{name:.80} is not known here; there are {', '.join(FIELDS)}.", name[:80])
    if wanted.kind == ModelProvider.Kind.COMPATIBLE and not wanted.base_url:
        raise InvalidProvider("base_url is missing: where the OpenAI-compatible server is.", "base_url")
    if not wanted.api_key and not wanted.base_url:
        raise InvalidProvider("api_key is missing: the vendor does not answer without one.", "api_key")
    return wanted


def _address(given: Any, own: bool) -> str:
    """The address of a provider, without the slash at its end; empty for the vendor's own."""
    if given in (None, ""):
        return ""
    text = given if isinstance(given, str) else ""
    try:
        checked = egress.check(text) if own else _operators(text)
    except EgressRefused as refused:
        words = f"{refused} The operator can allow private addresses (TOOLGATE_EGRESS_ALLOW)." if own else str(refused)
        raise InvalidProvider(words, "base_url") from None
    if checked.query_string or checked.fragment or "?" in text or "#" in text:
        raise InvalidProvider("base_url has no ? and no #.", "base_url")
    return text.rstrip("/")


def _operators(text: str) -> URL:
    """An address that the operator names, which may be a private one."""
    words = "The URL must begin with http:// or https://, name a host, and hold no name or password."
    try:
        parsed = URL(text)
    except ValueError:
        raise EgressRefused(words) from None
    if (
        parsed.scheme not in {"http", "https"}
        or not parsed.host
        or parsed.user is not None
        or len(text) > egress.MAX_URL
    ):
        raise EgressRefused(words)
    return parsed


def _key(given: Any) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > MOST_KEY_CHARACTERS or (given and not patterns.is_plain(given)):
        # Anything else could not be sent in a header.
        raise InvalidProvider(
            f"api_key must be text of up to {MOST_KEY_CHARACTERS:,} printable ASCII characters without spaces.",
            "api_key",
        )
    return given


def _models(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    sound = isinstance(given, list) and len(given) <= MOST_LISTED
    if not sound or not all(isinstance(each, str) and len(each) <= 200 and patterns.is_plain(each) for each in given):
        raise InvalidProvider(
            f"models must be null or a list of up to {MOST_LISTED} names of models, as the provider has them.", "models"
        )
    return tuple(dict.fromkeys(given))
