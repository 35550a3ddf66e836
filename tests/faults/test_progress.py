"""A campaign prints what it waits for, and abandons a schedule that never ends."""

import asyncio

import pytest
from progress import Progress
from tally import Tally


async def test_a_schedule_that_never_ends_is_named_and_given_up(capsys):
    progress = Progress(summary=lambda: "3/300", bound=0.2, every=0.02)
    async with progress.reported():
        with pytest.raises(TimeoutError):
            async with progress.schedule(17):
                await asyncio.Event().wait()
        during = capsys.readouterr().out
        await asyncio.sleep(0.1)
    assert "3/300; under way: 17 (0 s)" in during
    assert capsys.readouterr().out.strip().endswith("under way:")


def test_a_schedule_that_was_given_up_is_a_loss():
    tally = Tally(schedules=300, schedules_stuck=1)
    assert (tally.lost, tally.is_good) == (1, False)
