"""The lifecycle of a run: created, queued, claimed, executed, answered, ended."""
