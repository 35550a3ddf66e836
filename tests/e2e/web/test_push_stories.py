"""Web Push: a person whose page is closed is told, through their browser's push service."""

from collections.abc import Iterator

import psycopg
import pytest
from rigging import Rig, rigged

from bathysphere.testing import says

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(240)]
ON = {
    "BATHYSPHERE_PUSH_CONTACT": "mailto:operator@example.com",
    "BATHYSPHERE_PUSH_SECRET": "a secret of thirty-two characters",
    "BATHYSPHERE_WEBHOOK_ALLOW_LOOPBACK": "true",
}


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rigged(tmp_path_factory.mktemp("push"), ON) as found:
        yield found


@pytest.mark.long(
    "tests/integration/engine/test_push.py::test_the_end_of_a_run_is_told_without_contents"
)
def test_a_person_whose_page_is_closed_is_told(story, rig):
    story("push", [says("Down we go.")])
    with psycopg.connect(rig.database) as connection:
        query = "SELECT count(*) FROM engine.push_subscriptions"
        assert connection.execute(query).fetchone() == (0,)  # it was turned off again
