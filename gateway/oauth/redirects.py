"""Where a client may have people sent back to: what it may name, and whether a request names one of these."""

import re
from urllib.parse import urlsplit

LONGEST = 500
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# A program on the user's machine listens on any port that is free.
_LOCAL = re.compile(rf"http://({'|'.join(map(re.escape, _LOOPBACK))})(:[0-9]{{1,5}})?(/[^\s?#]*)?(\?[^\s#]*)?")
_REMOTE = re.compile(r"https://[a-z0-9.-]+(:[0-9]{1,5})?(/[^\s?#]*)?(\?[^\s#]*)?")
# A program that the operating system opens. Those that browsers and systems open themselves are none.
_PROGRAM = re.compile(r"[a-z][a-z0-9+.-]*:/{1,3}[^\s#]+")
_NOT_PROGRAMS = {
    "http",
    "https",
    "javascript",
    "data",
    "file",
    "blob",
    "about",
    "vbscript",
    "ws",
    "wss",
    "ftp",
    "mailto",
}


def problem_of(uri: str) -> str | None:
    """What is wrong with an address that a client names, or None."""
    if len(uri) > LONGEST or not uri.isascii() or not uri.isprintable() or set(uri) & set(" \\\"'<>;,*"):
        return "is too long, or has characters that an address has not"
    if _LOCAL.fullmatch(uri) or _REMOTE.fullmatch(uri):
        return None
    if urlsplit(uri).scheme not in _NOT_PROGRAMS and _PROGRAM.fullmatch(uri):
        return None
    return "is neither https, nor http on the user's own machine, nor a program's own scheme"


def is_allowed(uri: str, allowed: list[str]) -> bool:
    """Whether it is one of the client's addresses, letter by letter; the port of the user's own machine is free."""
    return uri in allowed or (
        _LOCAL.fullmatch(uri) is not None and _without_port(uri) in {_without_port(each) for each in allowed}
    )


def destination(uri: str) -> str:
    """Where it leads, in words for the person who is asked."""
    parts = urlsplit(uri)
    if _LOCAL.fullmatch(uri):
        return "a program on your own computer"
    return parts.netloc if parts.scheme == "https" else f"the program that opens {parts.scheme}: links"


def source(uri: str) -> str:
    """What a Content-Security-Policy calls it."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def _without_port(uri: str) -> str:
    found = _LOCAL.fullmatch(uri)
    return f"http://{found[1]}{found[3] or ''}{found[4] or ''}" if found else uri
