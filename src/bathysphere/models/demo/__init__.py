"""`demo:tour`: a scripted tour for new users that needs no key and no download.

`words.py` holds its texts, `tour.py` decides the next step, `tutor_*.py` and `team_*.py` do the
same for the tutor and the workspace agent, `research.py` answers the research agent, `past.py`
reads the history, and `model.py` is the chat model.
"""

from typing import TYPE_CHECKING

from bathysphere.core.errors import ModelUnavailable
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import DEMO_TOUR, ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the tour; it never fails, so `retries` is ignored."""
    del retries
    _require_tour(name)
    from bathysphere.models.demo.model import DemoTourModel

    return DemoTourModel(pause_s=settings.demo_pause_s)


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Check the name; the tour is always usable."""
    del settings, probe
    _require_tour(name)
    return ModelCheck(name=str(name), usable=True, detail="a scripted tour, not an AI")


def _require_tour(name: ModelName) -> None:
    if str(name) != DEMO_TOUR:
        raise ModelUnavailable(f"Unknown demo: {name.name}", hint=f"use {DEMO_TOUR}")
