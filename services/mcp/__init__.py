"""MCP servers as services: Toolgate as a client of Streamable HTTP, revision 2026-07-28 and the older ones.

`connection` speaks to a server (`exchange` is one message of it, `sessions` what is kept between calls), `listing`
reads what it offers, `tool` is one of its tools, `results` what came of a call, `asking` what it asks the call's user.
Every byte goes through `tools.network.egress`. The client is Toolgate's own: the SDK's opens its connections by itself,
holds each open with tasks of its own, enforces `outputSchema` and cannot wait for a person.
"""
