"""The campaign of `make faults-cells` with a few moves: nothing lost, doubled or refused."""

from pathlib import Path

import pytest
from cells import two_cells
from cells_campaign import KILLED_EVERY, PAUSE_GOAL, play

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]


@pytest.mark.long(
    "tests/integration/engine/test_cells.py"
    "::test_a_running_run_goes_on_in_the_other_cell_without_a_strike"
)
async def test_a_tenant_moves_under_load(tmp_path: Path):
    with two_cells(tmp_path) as country:
        tally = await play(country, moves=KILLED_EVERY, seed=1)
    assert (tally.lost, tally.doubled, tally.refused, tally.rows_left) == (0, 0, 0, 0)
    assert tally.moves_killed == 1
    assert max(tally.pauses) <= PAUSE_GOAL
    assert tally.runs >= 5
