"""Where the arguments of an HTTP tool go: hidden from the model, and checked when the tool is added.

    {"method": "POST", "path": "/v1/{claw_id}/trades", "body": "json", "places": {"per_page": ["query", "per-page"]}}

An argument without a place of its own is in the path when the path names it, else in the body, else in the query.
"""

import re
from dataclasses import dataclass
from typing import Any

from services.errors import InvalidService

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODIES = ("json", "form", "none")
MAX_PATH = 1024
# What comes from who is authenticated, and never from a model: the user's id for both of the first, the tenant's id.
IDENTITY = frozenset({"claw_id", "toolgate_user", "toolgate_tenant"})

PLACEHOLDER = re.compile(r"\{([^{}/]*)\}")
_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@%-]|\{[A-Za-z_][A-Za-z0-9_.-]*\})*)+")


@dataclass(frozen=True, slots=True)
class Http:
    """How a tool is called; `places` has the place of each argument that is not where others are."""

    method: str
    path: str
    body: str
    places: dict[str, list[str]]

    @property
    def in_path(self) -> list[str]:
        """The names between braces, in order."""
        return PLACEHOLDER.findall(self.path)

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {"method": self.method, "path": self.path, "body": self.body, "places": self.places}

    def place(self, name: str) -> tuple[str, str]:
        """Where an argument goes (path, query, header or body) and what it is called there."""
        if name in self.places:
            where, called = self.places[name]
            return where, called
        if name in self.in_path:
            return "path", name
        return ("query" if self.body == "none" else "body"), name


def read(given: Any, at: str, schema: dict[str, Any]) -> Http:
    """The `http` of a descriptor's tool, for arguments of the schema; raises InvalidService."""
    if not isinstance(given, dict):
        raise InvalidService(f"{at} must be an object with method and path.", at)
    for name in given:
        if name not in ("method", "path", "body", "query"):
            raise InvalidService(f"{at}.{name:.80} is not known here; there are method, path, body and query.", at)
    method, path = str(given.get("method", "")).upper(), given.get("path")
    if method not in METHODS:
        raise InvalidService(f"{at}.method must be one of {', '.join(METHODS)}.", f"{at}.method")
    check_path(path, f"{at}.path")
    body = given.get("body", "none" if method in ("GET", "HEAD", "DELETE") else "json")
    if body not in BODIES or (body != "none" and method in ("GET", "HEAD")):
        raise InvalidService(f"{at}.body must be one of {', '.join(BODIES)}, and none of a GET.", f"{at}.body")
    query = given.get("query", [])
    if not isinstance(query, list) or not all(isinstance(name, str) for name in query):
        raise InvalidService(f"{at}.query must be a list of the names of arguments.", f"{at}.query")
    http = Http(method, str(path), body, {name: ["query", name] for name in query})
    check_placeholders(http, at, schema)
    return http


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
    for name in [*http.in_path, *http.places]:
        if name not in known | IDENTITY:
            raise InvalidService(f"{at} names {name:.80}, which is not among the tool's parameters.", at)


def identity(http: Http, schema: dict[str, Any]) -> list[str]:
    """The identity that the tool is called with: whatever of it its path, its places or its schema names."""
    properties = schema.get("properties")
    named = {*http.in_path, *http.places, *(properties if isinstance(properties, dict) else ())}
    return sorted(named & IDENTITY)
