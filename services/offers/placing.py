"""Where the arguments of an HTTP tool go: hidden from the model, and checked when the tool is added.

    {"method": "POST", "path": "/v1/{claw_id}/trades", "body": "json", "places": {"per_page": ["query", "per-page"]}}

An argument without a place of its own is in the path when the path names it, else in the body, else in the query. A
place may have a style of `services.execution.styles` too: `{"ids": ["query", "ids", "comma"]}`. In a form with files
(the body `multipart`, of OpenAPI operations alone) the style may be `file`, and a media type follows where one is said.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from services.errors import InvalidService
from services.offers.headers import REFUSED_HEADERS
from tools.network import egress
from tools.network.egress import EgressRefused

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODIES = ("json", "form", "none")
MAX_PATH = 1024
MAX_HEADERS = 10
MAX_HOSTS = 50
FIELDS = ("method", "path", "body", "query", "headers", "success", "hosts")
# What comes from who is authenticated, and never from a model: the user's id for both of the first, the tenant's id.
IDENTITY = frozenset({"claw_id", "toolgate_user", "toolgate_tenant"})

PLACEHOLDER = re.compile(r"\{([^{}/]*)\}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,198}[\x21-\x7e])?")
_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@%-]|\{[A-Za-z_][A-Za-z0-9_.-]*\})*)+")


@dataclass(frozen=True, slots=True)
class Http:
    """How a tool is called; `places` has the place of each argument that is not where others are.

    `headers` are sent with every call. Where `success` names a field, an answer in whose JSON it is not true is a
    failure. With `hosts` the arguments say which of them is called, and how (`services.execution.elsewhere`). With
    `servers` one of them is called, each a URL or a path at the service's host, in place of the service's address.
    """

    method: str
    path: str
    body: str
    places: dict[str, list[str]]
    headers: dict[str, str] = field(default_factory=dict)
    success: str = ""
    hosts: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)

    @property
    def in_path(self) -> list[str]:
        """The names between braces, in order."""
        return PLACEHOLDER.findall(self.path)

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        more = {"headers": self.headers, "success": self.success, "hosts": self.hosts, "servers": self.servers}
        stored = {"method": self.method, "path": self.path, "body": self.body, "places": self.places}
        return stored | {name: value for name, value in more.items() if value}

    @classmethod
    def stored(cls, row: dict[str, Any]) -> "Http":
        """Out of what `as_json` made."""
        more = (row.get("headers", {}), row.get("success", ""), row.get("hosts", []), row.get("servers", []))
        return cls(row["method"], row["path"], row["body"], row["places"], *more)

    def place(self, name: str) -> tuple[str, str]:
        """Where an argument goes (path, query, header or body) and what it is called there."""
        if name in self.places:
            where, called, *_ = self.places[name]
            return where, called
        if name in self.in_path:
            return "path", name
        return ("query" if self.body == "none" else "body"), name

    def style(self, name: str) -> str:
        """How an argument is written that is a list or an object; "" where its place does not say."""
        return self.places[name][2] if len(self.places.get(name, ())) > 2 else ""

    def media(self, name: str) -> str:
        """The media type of a field of a form with files; "" where its place does not say."""
        return self.places[name][3] if len(self.places.get(name, ())) > 3 else ""


def read(given: Any, at: str, schema: dict[str, Any]) -> Http:
    """The `http` of a descriptor's tool, for arguments of the schema; raises InvalidService."""
    if not isinstance(given, dict):
        raise InvalidService(f"{at} must be an object with method and path.", at)
    for name in given:
        if name not in FIELDS:
            raise InvalidService(f"{at}.{name:.80} is not known here; there are {', '.join(FIELDS)}.", at)
    method, path = str(given.get("method", "")).upper(), given.get("path")
    if method not in METHODS:
        raise InvalidService(f"{at}.method must be one of {', '.join(METHODS)}.", f"{at}.method")
    check_path(path, f"{at}.path")
    body = given.get("body", "none" if method in ("GET", "HEAD", "DELETE") else "json")
    if body not in BODIES or (body != "none" and method in ("GET", "HEAD")):
        raise InvalidService(f"{at}.body must be one of {', '.join(BODIES)}, and none of a GET.", f"{at}.body")
    success = given.get("success", "")
    if not isinstance(success, str) or len(success) > 64:
        raise InvalidService(f"{at}.success must be the name of a field of the answer.", f"{at}.success")
    places = {name: ["query", called] for name, called in _query(given, at).items()}
    http = Http(method, str(path), body, places, _headers(given, at), success, _hosts(given, at))
    check_placeholders(http, at, schema)
    if http.hosts and "host" not in schema.get("properties", {}):
        raise InvalidService(f"{at}.hosts needs an argument host, which chooses among them.", f"{at}.hosts")
    return http


def _query(given: dict[str, Any], at: str) -> dict[str, str]:
    """The arguments that go into the query, with what each is called there; raises InvalidService."""
    query = given.get("query", [])
    named = list(query.items()) if isinstance(query, dict) else [(each, each) for each in _listed(query)]
    if not isinstance(query, dict | list) or not all(isinstance(each, str) for pair in named for each in pair):
        raise InvalidService(f"{at}.query must be a list of the names of arguments.", f"{at}.query")
    return dict(named)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _headers(given: dict[str, Any], at: str) -> dict[str, str]:
    """Headers that are the same for every call; raises InvalidService."""
    headers = given.get("headers", {})
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise InvalidService(f"{at}.headers must be an object of up to {MAX_HEADERS}.", f"{at}.headers")
    for name, value in headers.items():
        known = _HEADER.fullmatch(name) and name.lower() not in REFUSED_HEADERS
        if not known or not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise InvalidService(f"{at}.headers.{name:.80} is no header that a call can be sent with.", f"{at}.headers")
    return headers


def _hosts(given: dict[str, Any], at: str) -> list[str]:
    """The hosts that the argument `host` chooses from, each a name (https), or an origin; raises InvalidService."""
    hosts = given.get("hosts", [])
    if not isinstance(hosts, list) or len(hosts) > MAX_HOSTS or len(set(map(str, hosts))) < len(hosts):
        raise InvalidService(f"{at}.hosts must be a list of up to {MAX_HOSTS}, each of them once.", f"{at}.hosts")
    for each in hosts:
        try:
            origin = egress.check(origin_of(each) if isinstance(each, str) else "")
        except EgressRefused as refused:
            raise InvalidService(f"{at}.hosts: {each!s:.100}: {refused}", f"{at}.hosts") from None
        if str(origin.origin()) != origin_of(each):
            words = (
                f"{at}.hosts: {each:.100} must be a host in lower case, such as hooks.example.com, and nothing more."
            )
            raise InvalidService(words, f"{at}.hosts")
    return hosts


def origin_of(host: str) -> str:
    """The origin that a host of `hosts` stands for."""
    return host if "://" in host else f"https://{host}"


def check_path(path: Any, at: str) -> None:
    """Raise InvalidService for what is no path of a URL, with names in braces in it."""
    if not isinstance(path, str) or len(path) > MAX_PATH or not _PATH.fullmatch(path):
        raise InvalidService(
            f"{at} must begin with / and be a path such as /v1/items/{{item_id}}, without ? and #.", at
        )
    if any(part in (".", "..") for part in re.sub("%2[eE]", ".", path).split("/")):
        raise InvalidService(f"{at} must not have . or .. as a segment.", at)


def check_placeholders(http: Http, at: str, schema: dict[str, Any]) -> None:
    """Raise InvalidService where the path, or the query, names what is no parameter of the tool."""
    properties = schema.get("properties")
    known = set(properties) if isinstance(properties, dict) else set()
    # What has a place elsewhere does not fill the path.
    filled = {place[1] for place in http.places.values() if place[0] == "path"} | (known - set(http.places))
    missing = [name for name in http.in_path if name not in filled | IDENTITY]
    for name in [*missing, *http.places]:
        if name in missing or name not in known | IDENTITY:
            raise InvalidService(f"{at} names {name:.80}, which is not among the tool's parameters.", at)


def identity(http: Http, schema: dict[str, Any]) -> list[str]:
    """The identity that the tool is called with: whatever of it its path, its places or its schema names."""
    properties = schema.get("properties")
    named = {*http.in_path, *http.places, *(properties if isinstance(properties, dict) else ())}
    return sorted(named & IDENTITY)
