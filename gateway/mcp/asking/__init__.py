"""Calls that ask, as MCP clients are asked, and what they answer."""
