"""The hosts that a tenant allows to be fetched from without a human: `example.com` or `*.example.com`, with a port or
without."""

import re
from collections.abc import Iterable

from yarl import URL

from tenants.errors import Refused
from tools.network import egress

MOST_HOSTS = 200
_PORTS = {"http": 80, "https": 443}
_ENTRY = re.compile(r"(?P<any>\*\.)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/?#@:*\[\]\\]+)(?::(?P<port>[0-9]{1,5}))?")


class InvalidHost(Refused):
    """An entry names no host."""

    code = "invalid_host"

    def __init__(self, detail: str):
        super().__init__(detail, field="fetch_hosts")


def normal(entry: str) -> str:
    """The entry as it is stored: lower case, in ASCII, without a last dot. Raises InvalidHost."""
    found = _ENTRY.fullmatch(entry.strip())
    if found is None:
        raise InvalidHost(f"{entry.strip()[:100]!a} is no host: write example.com or *.example.com, without https://.")
    port = f":{int(found['port'])}" if found["port"] else ""
    try:
        host = place(egress.check(f"http://{found['host']}{port}/"))[0]
    except egress.EgressRefused as refused:
        raise InvalidHost(f"{entry.strip()[:100]!a} cannot be fetched from. {refused}") from None
    if len(host) > 253:
        raise InvalidHost(f"{entry.strip()[:100]!a} is no host.")
    if found["any"] and ("." not in host or host.replace(".", "").isdigit() or ":" in host):
        raise InvalidHost(f"{entry.strip()[:100]!a} is too wide: a star stands for what is before a domain.")
    return f"{found['any'] or ''}{_bracketed(host)}{port}"


def read(entries: Iterable[str]) -> list[str]:
    """The entries as they are stored, each once, in order. Raises InvalidHost."""
    found = sorted({normal(each) for each in entries})
    if len(found) > MOST_HOSTS:
        raise InvalidHost(f"These are {len(found)} hosts; {MOST_HOSTS} can be allowed.")
    return found


def allows(hosts: Iterable[str], url: URL) -> bool:
    """Whether an entry names the URL's host, on the scheme's usual port unless the entry names another."""
    host, port = place(url)
    usual = port == _PORTS.get(url.scheme)
    return any(_names(entry, host, port, usual) for entry in hosts)


def place(url: URL) -> tuple[str, int | None]:
    """The host and port that a request for the URL goes to."""
    return (url.raw_host or "").rstrip(".").lower(), url.port


def same_place(before: URL, after: URL) -> bool:
    """Whether a redirect stays where it was: the same host and port, or its way from http to https."""
    (host, port), (other, other_port) = place(before), place(after)
    if host != other:
        return False
    return (before.scheme, port) == (after.scheme, other_port) or (
        (before.scheme, port) == ("http", 80) and (after.scheme, other_port) == ("https", 443)
    )


def decided(url: str, hosts: Iterable[str] | None) -> bool | None:
    """Whether a request for the URL is to an allowed host; None where that cannot be decided."""
    if hosts is None:
        return None
    try:
        return allows(hosts, egress.check(url))
    except egress.EgressRefused:
        return None


def _names(entry: str, host: str, port: int | None, usual: bool) -> bool:
    named, colon, own = entry.rpartition(":") if not entry.endswith("]") else (entry, "", "")
    if colon and own.isdigit():
        if int(own) != port:
            return False
    elif usual:
        named = entry
    else:
        return False
    if named.startswith("*."):
        return host.endswith(named[1:]) and len(host) > len(named) - 1
    return _bracketed(host) == named


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
