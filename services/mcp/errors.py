"""Why an MCP server has not done what it was asked, as one tree; `tools.network.egress.EgressFailed` is beside it.

McpFailed
├── Rejected       it answered with a JSON-RPC error: `code`, `said`, `data`
├── HttpFailed     it answered with an HTTP status of failure: `status`, `said`, `missing` scopes of the credential
├── Malformed      what it answered is no MCP, or too large; the message says what
├── SessionEnded   it does not know the session any more; what was asked has not been done
└── Unsupported    it speaks no revision that Toolgate speaks
"""

from typing import Any

METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH = -32601, -32602, -32020
UNSUPPORTED_VERSION, INPUT_NEEDED = -32022, -32042
# Of a server that answers nothing but a GET, with a stream of events.
OLD_TRANSPORT = (
    "This looks like HTTP with SSE, the transport of MCP servers until 2024-11-05, which Toolgate does not speak. Many"
    " servers speak Streamable HTTP at another address, such as one that ends in /mcp."
)


class McpFailed(Exception):
    """There is no result. The words of a server in it hold no credential, and may be anything else."""


class Rejected(McpFailed):
    """The server understood, and refused or failed."""

    def __init__(self, code: int, said: str, data: Any = None):
        super().__init__(f"error {code}: {said}")
        self.code, self.said, self.data = code, said, data


class HttpFailed(McpFailed):
    """The server, or something before it, failed."""

    def __init__(self, status: int, said: str, missing: str = ""):
        super().__init__(f"HTTP {status}")
        self.status, self.said, self.missing = status, said, missing


class Malformed(McpFailed):
    """The answer cannot be used."""


class SessionEnded(McpFailed):
    """The session is over."""


class Unsupported(McpFailed):
    """There is no revision in common."""

    def __init__(self, offered: list[str]):
        super().__init__(f"It speaks {', '.join(offered)[:200] or 'no revision that it names'}.")
