"""Answers survive workers that die while they process them."""

from uuid import uuid4

import pytest
from engine_rig import ALICE, Nursery, Rig, WorkerProcess

from bathysphere.engine.runs.answers import Answers

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
def answers(rig: Rig) -> Answers:
    return rig.answers


def who(workers: list[WorkerProcess], pid: int) -> WorkerProcess:
    return next(worker for worker in workers if worker.pid == pid)


async def test_an_approval_given_before_a_crash_is_never_used_for_the_next_question(
    rig: Rig, nursery: Nursery, answers: Answers
):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        await rig.ended(await rig.start(thread, "asker", input={"delay": 1.0}))
        (first,) = await answers.pending(thread, owner=ALICE, graph="asker")
        given = await answers.submit(thread, {first: "approve"}, owner=ALICE, graph="asker")
        who(workers, await rig.in_journal(thread, "second")).kill()
        ended = await rig.ended(given.run)
        assert (ended.status, ended.attempt) == ("interrupted", 2)
        (second,) = await answers.pending(thread, owner=ALICE, graph="asker")
        assert second != first
        # Repeated by a client that got no response: it must not answer the new question.
        again = await answers.submit(thread, {first: "approve"}, owner=ALICE, graph="asker")
        assert (again.repeated, again.run) == ((first,), None)
        assert (await rig.state(thread, "asker")).values["items"] == ["first=approve"]
        denied = await answers.submit(thread, {second: "deny"}, owner=ALICE, graph="asker")
        assert (await rig.ended(denied.run)).status == "success"
    assert await rig.items(thread, "asker") == ["first=approve", "second=deny"]


async def test_a_crash_while_a_new_message_uses_a_kept_answer_loses_neither(
    rig: Rig, nursery: Nursery, answers: Answers
):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        await rig.ended(await rig.start(thread, "answering", input={"delay": 1.0}))
        pending = await answers.pending(thread, owner=ALICE, graph="answering")
        left = next(name for name, q in pending.items() if q.value["question"] == "left?")
        await answers.submit(thread, {left: "yes"}, owner=ALICE, graph="answering")
        message = {"items": ["a new message"], "name": "quiet"}
        run = await rig.start(thread, "answering", input=message)
        who(workers, await rig.in_journal(thread, "left answered")).kill()
        ended = await rig.ended(run)
        assert (ended.status, ended.attempt) == ("success", 2)
    quiet = ["left: nothing to ask", "right: nothing to ask"]
    assert await rig.items(thread, "answering") == ["left: yes", "a new message", *quiet]
