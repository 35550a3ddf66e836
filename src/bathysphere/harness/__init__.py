"""The harness: a specification as data, the order of its stack, one call into deepagents."""
