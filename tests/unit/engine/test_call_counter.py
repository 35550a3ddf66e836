"""The handler that counts model calls, among other handlers."""

import asyncio
import gc

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from bathysphere.engine.usage.counting import CallCounter
from bathysphere.testing import ScriptedChatModel, says


class SlowJournal:
    """A journal whose database takes its time."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.ended: list[object] = []

    async def begin(self, *_: object, **__: object) -> None:
        self.has_begun.set()
        await asyncio.sleep(60)

    async def end(self, call_id: object, **_: object) -> None:
        self.ended.append(call_id)


class Inline(BaseCallbackHandler):
    run_inline = True


async def cancelled_as_it_begins(*others: BaseCallbackHandler) -> asyncio.Task[object]:
    journal = SlowJournal()
    callbacks = [CallCounter(journal), *others]
    model = ScriptedChatModel(script=[says("Hello.")])
    asked = asyncio.create_task(model.ainvoke("Hi.", config={"callbacks": callbacks}))
    await journal.has_begun.wait()
    asked.cancel()
    await asyncio.wait([asked], timeout=5)
    return asked


@pytest.mark.parametrize("other", [Inline, BaseCallbackHandler])
async def test_a_call_that_is_cancelled_leaves_no_other_handler_uncalled(other):
    # A coroutine that is never awaited is a warning, and so an error here.
    asked = await cancelled_as_it_begins(other())
    assert asked.done()
    assert asked.cancelled()
    gc.collect()


async def test_a_time_limit_around_a_call_is_still_told_from_a_cancellation():
    model = ScriptedChatModel(script=[says("Hello.")])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await model.ainvoke("Hi.", config={"callbacks": [CallCounter(SlowJournal()), Inline()]})
