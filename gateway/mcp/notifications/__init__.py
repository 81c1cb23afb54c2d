"""What MCP clients are told beside their results: log messages of a call, and that a resource has changed."""
