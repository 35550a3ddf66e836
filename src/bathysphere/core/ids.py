"""Identifiers: random, unguessable, with a prefix for their kind."""

import secrets


def new_id(prefix: str) -> str:
    """Return a new identifier such as `run_3f9c…` (128 bits)."""
    return f"{prefix}_{secrets.token_hex(16)}"
