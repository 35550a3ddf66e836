"""LangChain's agent streaming protocol, version 2: commands, feeds and the wire format."""
