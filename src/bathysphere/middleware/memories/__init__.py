"""Memories: short notes that an agent keeps about a person, and that the person controls."""

from bathysphere.middleware.memories.middleware import (
    HELPERS,
    MemoriesMiddleware,
    with_note_approvals,
)
from bathysphere.middleware.memories.notes import MemoryMode

__all__ = ["HELPERS", "MemoriesMiddleware", "MemoryMode", "with_note_approvals"]
