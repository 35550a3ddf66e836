"""Conversations that are kept: titles, search, pins, projects, export and shared links."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rigging import Rig, rigged

from bathysphere.testing import says

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]
LONG = "\n\n".join(f"Paragraph {n} about the sea and its ways." for n in range(1, 60))


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server that writes titles."""
    more = {"BATHYSPHERE_TITLES": "true"}
    with rigged(tmp_path_factory.mktemp("keeping"), more) as found:
        yield found


@pytest.fixture(autouse=True)
def _nothing_is_kept_yet(rig: Rig) -> None:
    """Each telling begins with an empty list: the story names conversations by their titles."""
    with httpx.Client(base_url=rig.url, trust_env=False) as client:
        for thread in client.post("/threads/search", json={"limit": 100}).json():
            client.delete(f"/threads/{thread['thread_id']}").raise_for_status()


@pytest.mark.long(
    "tests/integration/server/test_shares.py"
    "::test_whoever_has_the_link_reads_what_was_said_and_nothing_else"
)
def test_a_conversation_is_named_found_pinned_grouped_exported_and_shared(story):
    script = [
        says("The **sperm whale** dives to 2,250 m."),
        says("Dives of the Sperm Whale"),
        says(LONG),
        says("Ways of the Sea"),
    ]
    story("keeping", script, seconds=280)
