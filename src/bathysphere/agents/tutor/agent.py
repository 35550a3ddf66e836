"""The tutor as data: a move for each turn, a map of the argument, the person's own documents.

Its scratch files are its own business; deleting one waits for the person's word, and where the
files are not the agent's own (a backend was given), every change does. What happens to the person's
documents they decide on their device. Payment per step is a layer that is not built yet: `payments`
is its place, outermost of the tutor's own layers, and empty.
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
from bathysphere.middleware.moves import MovesMiddleware
from bathysphere.models.resolve import Models

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]

FEWEST_VOICES, MOST_VOICES = 2, 4


@dataclass(frozen=True, kw_only=True, slots=True)
class TutorConfig:
    """What a deployment may change."""

    approvals: tuple[str, ...] = ("delete",)
    """Tools on scratch files that wait for the person's word."""
    max_questions: int = 3
    """How often it may ask what the person means in one run."""
    questions_a_turn: int = 1
    """How many questions a turn may put to the person."""
    voices: tuple[Voice, ...] = VOICES
    """Who speaks in a seminar: two to four, or none for no seminar."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.voices and not FEWEST_VOICES <= len(self.voices) <= MOST_VOICES:
            message = f"a seminar has {FEWEST_VOICES} to {MOST_VOICES} voices"
            raise ValueError(f"{message}, got {len(self.voices)}")


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: Layers = (),
    config: TutorConfig | None = None,
    payments: Layers = (),
) -> AgentSpec:
    """Describe the agent; nothing runs and nothing is read from the environment.

    Args:
        models: A chat model for each role.
        backend: Where the agent's own notes are; in graph state if not given.
        reliability: Layers that retry and replace a failing model, for every agent of the tree.
        config: What this deployment changes.
        payments: Layers that take payment for each model call; there are none yet.
    """
    config = config or TutorConfig()
    gated = config.approvals if backend is None else (*config.approvals, "write_file", "edit_file")
    approvals: dict[str, Approval] = dict.fromkeys(gated, True)
    return AgentSpec(
        name="tutor",
        description="Develops and tests your argument by questions, on a map that you own.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=_text("prompt.md"),
        subagents=tuple(_voice(voice, reliability) for voice in config.voices),
        backend=backend or ScratchBackend(),
        middleware=(
            *payments,
            ArgumentMapMiddleware(),
            MovesMiddleware(questions_a_turn=config.questions_a_turn),
            ClarifyMiddleware(max_questions=config.max_questions),
            ClientFilesMiddleware(),
            *reliability,
        ),
        approvals=approvals,
        limits=config.limits,
    )


def _voice(voice: Voice, reliability: Layers) -> SubagentSpec:
    return SubagentSpec(
        name=voice.name,
        description=voice.description,
        prompt=_text("voice.md").format(name=voice.name, position=voice.position),
        middleware=(ArgumentMapMiddleware(voice=voice.name), *reliability),
    )


def _text(name: str) -> str:
    place = files("bathysphere.agents.tutor").joinpath(name)
    return place.read_text(encoding="utf-8").strip()
