"""The operator's MCP servers: configuration, connections and tools, independent of LangChain."""
