"""Webhooks: tell a URL that a run has ended, at least once and signed."""
