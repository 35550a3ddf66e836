"""Approval of file changes: a middleware and the decisions that a person can make."""
