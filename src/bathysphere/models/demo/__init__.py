"""`demo:tour`: a scripted tour that needs no key and no download, for the first minute.

`words.py` holds what it says, `tour.py` decides what comes next, `tutor_words.py` and
`tutor_tour.py` do so for the tutor, `past.py` reads the history, `model.py` is the chat model.
"""

from typing import TYPE_CHECKING

from bathysphere.core.errors import ModelUnavailable
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import DEMO_TOUR, ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the tour; it never fails, so `retries` has no use."""
    del retries
    _need_tour(name)
    from bathysphere.models.demo.model import DemoTourModel

    return DemoTourModel(pause_s=settings.demo_pause_s)


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """The tour can always be used."""
    del settings, probe
    _need_tour(name)
    return ModelCheck(name=str(name), usable=True, detail="a scripted tour, not an AI")


def _need_tour(name: ModelName) -> None:
    if str(name) != DEMO_TOUR:
        raise ModelUnavailable(f"there is no demo called {name.name}", hint=f"use {DEMO_TOUR}")
