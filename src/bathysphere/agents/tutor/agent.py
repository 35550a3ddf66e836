"""The tutor's spec: one move per turn, an argument map, and the person's documents.

Scratch files need no approval, except to delete one; with an external backend, every change needs
approval. Changes to the person's documents are approved on their device.
"""

from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware

from bathysphere.agents.tutor.voices import VOICES, Voice
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.middleware.approvals import Approval
from bathysphere.middleware.argument_map import ArgumentMapMiddleware
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.middleware.memories import (
    HELPERS,
    MemoriesMiddleware,
    MemoryMode,
    with_note_approvals,
)
from bathysphere.middleware.moves import MovesMiddleware
from bathysphere.middleware.only_tools import OnlyToolsMiddleware
from bathysphere.models.resolve import Models

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]

MIN_VOICES, MAX_VOICES = 2, 4

LEAN_TOOLS = (
    "choose_move",
    "propose_node",
    "propose_relation",
    "propose_quote",
    "review_nodes",
    "ask_user",
    "list_user_files",
    "read_user_file",
    "search_user_files",
    "patch_user_file",
    "write_user_file",
    "read_file",
    "task",
)
"""The tools of the lean profile: no notes of its own, but long results can be read again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TutorConfig:
    """Options that a deployment can change."""

    approvals: tuple[str, ...] = ("delete",)
    """Tools on scratch files that need approval."""
    max_questions: int = 3
    """Maximum number of clarifying questions per run."""
    questions_a_turn: int = 1
    """Maximum number of questions in one reply."""
    voices: tuple[Voice, ...] = VOICES
    """Voices of a seminar: two to four, or none to disable seminars."""
    limits: Limits = field(default_factory=Limits)
    memories: MemoryMode = "opt-in"
    """Whether the agent keeps notes about people."""

    def __post_init__(self) -> None:
        if self.voices and not MIN_VOICES <= len(self.voices) <= MAX_VOICES:
            message = f"A seminar needs {MIN_VOICES} to {MAX_VOICES} voices"
            raise ValueError(f"{message}, got {len(self.voices)}")


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: Layers = (),
    config: TutorConfig | None = None,
) -> AgentSpec:
    """Describe the agent, without running it or reading the environment.

    Args:
        models: A chat model for each role.
        backend: Storage for the agent's notes; graph state by default.
        reliability: Layers that retry or replace a failing model, for all agents in the tree.
        config: Options of this deployment.
    """
    config = config or TutorConfig()
    gated = config.approvals if backend is None else (*config.approvals, "write_file", "edit_file")
    approvals: dict[str, Approval] = dict.fromkeys(gated, True)
    is_lean = models.profile == "lean"
    has_memory = config.memories != "off" and not is_lean
    return AgentSpec(
        name="tutor",
        description="Develops and tests your argument by questions, on a map that you own.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=_text("lean.md" if is_lean else "prompt.md"),
        subagents=tuple(_voice(voice, reliability) for voice in config.voices),
        backend=backend or ScratchBackend(),
        middleware=(
            ArgumentMapMiddleware(),
            MovesMiddleware(questions_a_turn=config.questions_a_turn),
            ClarifyMiddleware(max_questions=config.max_questions, choices=not is_lean),
            ClientFilesMiddleware(lean=is_lean),
            *((OnlyToolsMiddleware(*LEAN_TOOLS),) if is_lean else ()),
            *((MemoriesMiddleware(config.memories),) if has_memory else ()),
            *reliability,
        ),
        approvals=with_note_approvals(approvals) if has_memory else approvals,
        limits=config.limits,
        profile=models.profile,
    )


def _voice(voice: Voice, reliability: Layers) -> SubagentSpec:
    return SubagentSpec(
        name=voice.name,
        description=voice.description,
        prompt=_text("voice.md").format(name=voice.name, position=voice.position),
        middleware=(ArgumentMapMiddleware(voice=voice.name), *reliability),
        permissions=HELPERS,
    )


def _text(name: str) -> str:
    resource = files("bathysphere.agents.tutor").joinpath(name)
    return resource.read_text(encoding="utf-8").strip()
