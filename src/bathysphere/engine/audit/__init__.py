"""The audit log: what operators and people did that matters afterwards, in a chain of hashes."""
