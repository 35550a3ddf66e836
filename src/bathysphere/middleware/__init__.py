"""Agent middleware, one capability per file: adapters from the domain to the agent loop."""
