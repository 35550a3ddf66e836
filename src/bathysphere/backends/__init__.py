"""File backends, one per storage; all pass the same contract.

deepagents' own can be imported from here as from `deepagents.backends`. Names are loaded when first
used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepagents.backends import (
        BackendProtocol,
        CompositeBackend,
        FilesystemBackend,
        StateBackend,
        StoreBackend,
    )

    from bathysphere.backends.scratch import ScratchBackend

__all__ = [
    "BackendProtocol",
    "CompositeBackend",
    "FilesystemBackend",
    "ScratchBackend",
    "StateBackend",
    "StoreBackend",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    home = f"{__name__}.scratch" if name == "ScratchBackend" else "deepagents.backends"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
