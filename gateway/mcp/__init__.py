"""Toolgate as an MCP server, at `/mcp`: the caller's tools over Streamable HTTP, through the gates of every other call.

`app` answers requests: it authenticates, and checks host, origin and body before the SDK sees them. `server` and what
it imports need the SDK, whose import takes a second, so `app` has it imported at the first request, in production
when the process starts.

May import `gateway.http`, `gateway.process` and the packages below; `gateway.config` and `gateway.server` import it.
"""
