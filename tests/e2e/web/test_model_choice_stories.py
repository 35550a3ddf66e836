"""A model per conversation in Chromium, desk and phone: the page chooses, the server asks it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rigging import Rig, rigged

from bathysphere.testing import says

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(400)]
PRICES = '[prices."openai:gpt-5-pro"]\ninput = 3\noutput = 15\n'


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server that offers two models, one of them with a price."""
    folder = tmp_path_factory.mktemp("models")
    catalog = folder / "models.toml"
    catalog.write_text(PRICES)
    more = {
        "BATHYSPHERE_MODELS_OFFERED": "openai:gpt-5=Quick, openai:gpt-5-pro=Thorough",
        "BATHYSPHERE_MODEL_CATALOG": str(catalog),
    }
    with rigged(folder, more) as found:
        yield found


@pytest.mark.long(
    "tests/integration/server/test_model_choice.py::test_each_run_asks_the_model_that_was_chosen"
)
def test_a_model_is_chosen_switched_and_kept(rig, story):
    once = [says("Ten thousand metres."), says("Very wide.")]
    story("model_choice", [*once, *once], seconds=300)
    asked = [request.body["model"] for request in rig.model.requests()]
    assert asked == ["gpt-5-pro", "gpt-5", "gpt-5-pro", "gpt-5"]
