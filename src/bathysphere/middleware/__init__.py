"""One capability a file: adapters from the domain to the agent loop."""
