"""The spec of an agent folder, on the model of a test."""

from pathlib import Path

from langchain_core.language_models import BaseChatModel

from bathysphere.harness.spec import AgentSpec
from bathysphere.models.resolve import Models
from bathysphere.registry.agent_folder import read_agent_folder
from bathysphere.registry.folder_check import check_agent_folder
from bathysphere.registry.targets import CONFIG_FILE, FolderTarget, parse_agent


def folder_spec(folder: Path | str, *, model: BaseChatModel) -> AgentSpec:
    """Read and check an agent folder, as `bathysphere serve` does, with `model` in every role.

    Args:
        folder: A folder with an `agent.toml`.
        model: The model, such as a `ScriptedChatModel`.

    Raises:
        LoadError: Something in the folder is not valid; the message names the file and the line.
    """
    path = Path(folder).resolve()
    target = parse_agent(str(path), folder=_project(path))
    if not isinstance(target, FolderTarget):
        message = f"not an agent folder: {folder}"
        raise TypeError(message)
    found = read_agent_folder(target)
    check_agent_folder(found)
    return found.spec(models=Models(main=model, subagent=model, summary=model, audit=model))


def _project(folder: Path) -> Path:
    """The folder of the `langgraph.json` above, else the folder around the agent's."""
    for parent in folder.parents:
        if (parent / CONFIG_FILE).is_file():
            return parent
    return folder.parent
