"""`/mcp`: every assistant as a tool of the Model Context Protocol, over streamable HTTP."""
