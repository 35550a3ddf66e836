"""LangChain's agent streaming protocol, version 2: what is said on the wire, and how it is made."""
