"""The command line: one module per command; the agent stack loads only when one runs."""
