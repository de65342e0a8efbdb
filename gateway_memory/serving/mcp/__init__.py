"""The memory as an MCP server: tools, resources and a prompt, for one scope a client."""
