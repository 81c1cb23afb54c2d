"""The catalogue: its entries, and one of them as the body of a new service."""

from typing import Any

from services.descriptors import (
    github,
    google_calendar,
    microsoft_calendar,
    notion,
    sandbox,
    slack,
    webhook,
)
from services.descriptors.entry import Entry
from services.errors import InvalidService
from services.offers.placing import MAX_HOSTS, origin_of

_ALL = (github, slack, notion, google_calendar, microsoft_calendar, webhook, sandbox)
_SCHEME = "catalogue:"
ENTRIES: dict[str, Entry] = {each.ENTRY.name: each.ENTRY for each in _ALL}
# What a body may say beside the entry; the rest is the entry's.
FIELDS = frozenset({"catalogue", "slug", "url", "hosts", "credential", "timeout"})


def entries() -> list[Entry]:
    """All of them, in the order that they are shown in."""
    return list(ENTRIES.values())


def found(name: Any) -> Entry:
    """The entry of a name; raises InvalidService."""
    entry = ENTRIES.get(name) if isinstance(name, str) else None
    if entry is None:
        names = ", ".join(each.name for each in entries())
        raise InvalidService(f"There is no {name!s:.80} in the catalogue; there are {names}.", "catalogue")
    return entry


def body(given: dict[str, Any]) -> dict[str, Any]:
    """The body of a new service out of one that names an entry; raises InvalidService."""
    entry = found(given.get("catalogue"))
    for name in given:
        if name not in FIELDS:
            raise InvalidService(f"{name:.80} is the catalogue's to say; leave it out.", name[:80])
    hosts = _hosts(entry, given)
    url = given.get("url") or entry.url or (origin_of(hosts[0]) if hosts else None)
    made: dict[str, Any] = {"slug": given.get("slug") or entry.name, "kind": entry.kind, "url": url}
    made |= {name: given[name] for name in ("credential", "timeout") if given.get(name) is not None}
    if "credential" in made:
        made["credential"] = _filled_in(entry, made["credential"])
    return made | ({"descriptor": entry.descriptor(hosts)} if entry.kind == "http" else {})


def address(name: str) -> str:
    """What is said to be the address of an entry's descriptor."""
    return f"{_SCHEME}{name}"


def is_address(text: str) -> bool:
    """Whether a service follows an entry."""
    return text.startswith(_SCHEME)


def present(text: str, document: dict[str, Any]) -> dict[str, Any]:
    """The descriptor of the entry at an address as it is shipped now, for the hosts of an older `document` of it.

    Raises InvalidService where the entry is shipped no more.
    """
    return found(text.removeprefix(_SCHEME)).descriptor(document["tools"][0]["http"].get("hosts"))


def shown(entry: Entry) -> dict[str, Any]:
    """An entry as the API and pages show it, with what is suggested for each tool."""
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.about,
        "kind": entry.kind,
        "url": entry.url or None,
        "credential": {"type": entry.credential, "help": entry.help},
        "needs": [*(["hosts"] if entry.hosts else []), *(["url"] if not entry.url and not entry.hosts else [])],
        "tools": [
            {"name": each.given["name"], "description": each.given["description"], **each.suggested}
            for each in entry.tools
        ],
    }


def _filled_in(entry: Entry, credential: Any) -> Any:
    """A credential of people's accounts with the entry's server and scopes, unless it names another server."""
    if not isinstance(credential, dict) or credential.get("type") != "oauth_user":
        return credential
    names_one = {"issuer", "authorization_endpoint", "token_endpoint", "registration"} & set(credential)
    known = {name: value for name, value in entry.oauth.items() if name == "scopes" or not names_one}
    return {**known, **credential}


def _hosts(entry: Entry, given: dict[str, Any]) -> list[str]:
    hosts = given.get("hosts")
    if not entry.hosts:
        if hosts is not None:
            raise InvalidService(f"{entry.name} calls its own address only; leave hosts out.", "hosts")
        return []
    if not isinstance(hosts, list) or not hosts or len(hosts) > MAX_HOSTS or not all(isinstance(h, str) for h in hosts):
        raise InvalidService(f"{entry.name} needs hosts: a list of 1 to {MAX_HOSTS} that may be called.", "hosts")
    return hosts
