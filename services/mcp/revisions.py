"""The revisions of the protocol that Toolgate speaks as a client, and what it says of itself in each request."""

from typing import Any

MODERN = "2026-07-28"
# Those that begin with `initialize`, the one that is offered last.
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
OFFERED = HANDSHAKE[-1]

_CLIENT = {"name": "toolgate", "title": "Toolgate", "version": "1"}
# What a server may ask for during a call: answers of the call's user. No model and no files of Toolgate's.
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def modern_meta() -> dict[str, Any]:
    """What `_meta` of each request of 2026-07-28 has."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": _CLIENT,
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    }


def initialize_params() -> dict[str, Any]:
    """What `initialize` of the older revisions has."""
    return {"protocolVersion": OFFERED, "capabilities": CAPABILITIES, "clientInfo": _CLIENT}
