"""Logs, metrics and traces of the API and the workers."""
