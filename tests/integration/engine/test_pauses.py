"""A run that is to pause at a node pauses there, also if its worker fails at that moment."""

from uuid import uuid4

import pytest
from engine_rig import Rig
from langgraph.pregel import _loop

from bathysphere.engine.records import Work

pytestmark = pytest.mark.services
INPUT = {"items": [], "name": "a", "steps": 2, "delay": 0.0}


@pytest.fixture
def failing_at_the_pause(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first check for a pause fails as if PostgreSQL were gone, after the step was saved."""
    failures: list[str] = []
    original = _loop.should_interrupt

    def check(*arguments):
        found = original(*arguments)
        if found and not failures:
            failures.append("failed")
            raise ConnectionError
        return found

    monkeypatch.setattr(_loop, "should_interrupt", check)
    return failures


@pytest.mark.parametrize(
    ("pauses", "executed"),
    [
        ({"interrupt_before": ("step",)}, []),
        ({"interrupt_before": ("*",)}, []),
        ({"interrupt_after": ("step",)}, ["a:0"]),
    ],
)
async def test_a_second_attempt_does_not_pass_the_pause(
    rig: Rig, failing_at_the_pause: list[str], pauses, executed
):
    thread = uuid4()
    async with rig.working():
        run = await rig.start(thread, "steps", work=Work(input=INPUT, **pauses))
        ended = await rig.ended(run)
        assert failing_at_the_pause == ["failed"]
        assert (ended.status, ended.attempt) == ("interrupted", 2)
        assert await rig.journal(thread) == executed
        following = await rig.ended(await rig.start(thread, "steps", work=Work()))
        assert following.status == "success"
    assert await rig.journal(thread) == ["a:0", "a:1"]
