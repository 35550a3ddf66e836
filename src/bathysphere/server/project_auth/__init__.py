"""A project's own authentication and authorization: `auth.path` of its `langgraph.json`."""
