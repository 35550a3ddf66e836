"""LangGraph's REST API over the engine: requests, states, streams, the store."""
