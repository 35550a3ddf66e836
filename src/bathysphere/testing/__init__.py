"""The public test kit: a scripted model, a scripted model server, a small real model, contracts.

Agents can be tested without an LLM, or with one small enough for a test run. See `docs/testing.md`.
Names are imported lazily, so that unused pytest fixtures cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bathysphere.testing.agent_folder import folder_spec
    from bathysphere.testing.azurite import AzuriteServer
    from bathysphere.testing.backend_contract import BackendContract, SharedBackendContract
    from bathysphere.testing.frail import FrailChatModel
    from bathysphere.testing.gcs import GcsServer
    from bathysphere.testing.model_server import ModelServer
    from bathysphere.testing.scripted import ScriptedChatModel
    from bathysphere.testing.seaweedfs import SeaweedServer
    from bathysphere.testing.small_model import SmallModel
    from bathysphere.testing.turns import (
        Call,
        Refused,
        ScriptError,
        Turn,
        calls,
        fails,
        hangs,
        refuses,
        says,
        slowly,
        together,
    )

__all__ = [
    "AzuriteServer",
    "BackendContract",
    "Call",
    "FrailChatModel",
    "GcsServer",
    "ModelServer",
    "Refused",
    "ScriptError",
    "ScriptedChatModel",
    "SeaweedServer",
    "SharedBackendContract",
    "SmallModel",
    "Turn",
    "calls",
    "fails",
    "folder_spec",
    "hangs",
    "refuses",
    "says",
    "slowly",
    "together",
]

_HOMES = {
    "AzuriteServer": "azurite",
    "BackendContract": "backend_contract",
    "FrailChatModel": "frail",
    "GcsServer": "gcs",
    "ModelServer": "model_server",
    "ScriptedChatModel": "scripted",
    "SeaweedServer": "seaweedfs",
    "SharedBackendContract": "backend_contract",
    "SmallModel": "small_model",
    "folder_spec": "agent_folder",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'turns')}"), name)
