"""An entry of the catalogue: a descriptor of ours, where it is called, and what we suggest to say of its tools."""

from dataclasses import dataclass, field
from typing import Any

from tools.interface import Tier

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


@dataclass(frozen=True, slots=True)
class Shipped:
    """A tool of an entry: as its descriptor has it, and what is suggested to its owner (`changes.change_tool`)."""

    given: dict[str, Any]
    suggested: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `url` is empty where only the owner knows it, `hosts` says that the owner lists the hosts it may call.

    `credential` is the type that the API takes, `help` where to get one. `any_tool` is suggested for every tool that is
    not ours to describe. `oauth` is the API's authorization server and the scopes, for accounts of people.
    """

    name: str
    title: str
    about: str
    kind: str = "http"
    url: str = ""
    credential: str = "bearer"
    help: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    success: str = ""
    tools: tuple[Shipped, ...] = ()
    hosts: bool = False
    any_tool: dict[str, Any] = field(default_factory=dict)
    oauth: dict[str, Any] = field(default_factory=dict)

    def descriptor(self, hosts: list[str] | None = None) -> dict[str, Any]:
        """The descriptor, for those hosts where the entry asks for some."""
        more: dict[str, Any] = {"headers": self.headers, "success": self.success, "hosts": hosts}
        extra = {name: value for name, value in more.items() if value}
        tools = [each.given | {"http": each.given["http"] | extra} for each in self.tools]
        return {"version": 2, "name": self.title, "description": self.about, "tools": tools}

    def suggested(self, tool: str) -> dict[str, Any]:
        """What is suggested to say of a tool; nothing switches one on."""
        found = [each.suggested for each in self.tools if each.given["name"] == tool]
        return found[0] if found else self.any_tool


READS = {
    "tier": Tier.READ_ONLY.value,
    "idempotent": True,
    "parallel_safe": True,
    "labels": {"reads_private": True, "reads_untrusted": True, "leaves_tenant": False},
}
_WRITES = {"idempotent": False, "parallel_safe": False}
CHANGES = _WRITES | {
    "tier": Tier.SYSTEM.value,
    "labels": {"reads_private": True, "reads_untrusted": False, "leaves_tenant": True},
}
SENDS = CHANGES | {"tier": Tier.ELEVATED.value}


def text(description: str, **more: Any) -> Schema:
    """The schema of a text."""
    return TEXT | {"description": description} | more


def number(description: str, least: int, most: int) -> Schema:
    """The schema of a whole number."""
    return NUMBER | {"description": description, "minimum": least, "maximum": most}


def texts(description: str) -> Schema:
    """The schema of a list of texts."""
    return {"type": "array", "items": TEXT, "description": description}


def tool(
    name: str,
    description: str,
    request: str,
    suggested: dict[str, Any],
    needs: dict[str, Schema] | None = None,
    may: dict[str, Schema] | None = None,
    query: Any = None,
) -> Shipped:
    """A tool of an HTTP API; `request` is such as "GET /items/{id}", `needs` and `may` are its arguments."""
    method, _, path = request.partition(" ")
    schema = {"type": "object", "properties": (needs or {}) | (may or {}), "required": list(needs or {})}
    http = {"method": method, "path": path} | ({"query": query} if query else {})
    return Shipped({"name": name, "description": description, "inputSchema": schema, "http": http}, suggested)
