"""Identifiers: random, unguessable, prefixed by what they name."""

import secrets


def new_id(prefix: str) -> str:
    """A fresh identifier such as `run_3f9c…` (128 bits)."""
    return f"{prefix}_{secrets.token_hex(16)}"
