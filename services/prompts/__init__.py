"""What services put before models and MCP clients: guidance, feeds, prompts and resources."""
