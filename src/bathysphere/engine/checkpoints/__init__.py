"""Checkpoints of runs: fenced writes, rollback, closing of interrupted steps."""
