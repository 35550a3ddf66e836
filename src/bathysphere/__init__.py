"""Deep agents on a tether: agents that plan, keep files and ask, on LangGraph and deepagents.

Names are loaded when first used: `import bathysphere` alone imports nothing of the agent stack.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepagents import DeepAgentState, FilesystemPermission

    from bathysphere.backends.scratch import ScratchBackend
    from bathysphere.compat import create_deep_agent
    from bathysphere.core.errors import (
        BathysphereError,
        CallerError,
        ConfigError,
        ModelUnavailable,
        NotAllowed,
        UpstreamError,
    )
    from bathysphere.core.usage import Limits
    from bathysphere.harness.build import build
    from bathysphere.harness.spec import AgentSpec, CompiledSubagent, SubagentSpec
    from bathysphere.harness.state import HarnessState
    from bathysphere.models.resolve import Models
    from bathysphere.models.settings import ModelSettings

    __version__: str

__all__ = [
    "AgentSpec",
    "BathysphereError",
    "CallerError",
    "CompiledSubagent",
    "ConfigError",
    "DeepAgentState",
    "FilesystemPermission",
    "HarnessState",
    "Limits",
    "ModelSettings",
    "ModelUnavailable",
    "Models",
    "NotAllowed",
    "ScratchBackend",
    "SubagentSpec",
    "UpstreamError",
    "__version__",
    "build",
    "create_deep_agent",
]

_HOMES = {
    "AgentSpec": "harness.spec",
    "CompiledSubagent": "harness.spec",
    "HarnessState": "harness.state",
    "Limits": "core.usage",
    "ModelSettings": "models.settings",
    "Models": "models.resolve",
    "ScratchBackend": "backends.scratch",
    "SubagentSpec": "harness.spec",
    "build": "harness.build",
    "create_deep_agent": "compat",
}
"""Where a name lives; the errors live in `core.errors`."""

_DEEPAGENTS = ("DeepAgentState", "FilesystemPermission")
"""Names of deepagents, for those who know it; its backends are in `bathysphere.backends`."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("bathysphere")
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    if name in _DEEPAGENTS:
        return getattr(import_module("deepagents"), name)
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'core.errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
