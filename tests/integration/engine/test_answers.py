"""Answers are validated before they are saved, kept until all have arrived, and used once."""

import asyncio
from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.engine.errors import AnswerRefused, QuestionNotFound, ThreadNotFound
from bathysphere.engine.runs.answers import Answers

pytestmark = pytest.mark.services


@pytest.fixture
def answers(rig: Rig) -> Answers:
    return rig.answers


async def asked(rig: Rig, answers: Answers) -> tuple[UUID, str, str]:
    """A thread with two open questions: the one with a schema, then the free one."""
    thread = uuid4()
    await rig.ended(await rig.start(thread, "parallel", input={"items": []}))
    pending = await answers.pending(thread, owner=ALICE, graph="parallel")
    by_question = {q.value["question"]: name for name, q in pending.items()}
    return thread, by_question["which?"], by_question["what?"]


def give(answers: Answers, thread: UUID, values: dict, owner=ALICE):
    return answers.submit(thread, values, owner=owner, graph="parallel")


async def test_partial_answers_resume_together_and_repeat_each_question_once(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
        first = await give(answers, thread, {what: "hello"})
        assert (first.taken, first.waiting_for, first.run) == ((what,), (which,), None)
        assert await answers.saved(thread, owner=ALICE) == {what: "hello"}
        second = await give(answers, thread, {which: {"pick": "left"}})
        assert (second.taken, second.waiting_for) == ((which,), ())
        assert (await rig.ended(second.run)).status == "success"
    assert sorted(await rig.items(thread, "parallel")) == ["picked left", "said hello"]
    assert sorted(await rig.journal(thread)) == ["free", "free", "schooled", "schooled"]


async def test_an_invalid_answer_is_refused_and_can_be_corrected(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
        with pytest.raises(AnswerRefused, match="Invalid answer"):
            await give(answers, thread, {what: "hello", which: {"pick": "up"}})
        assert await answers.saved(thread, owner=ALICE) == {}  # all or nothing
        given = await give(answers, thread, {what: "hello", which: {"pick": "right"}})
        assert (await rig.ended(given.run)).status == "success"


async def test_a_repeated_answer_changes_nothing(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
        await give(answers, thread, {what: "hello"})
        again = await give(answers, thread, {what: "something else"})
        assert (again.taken, again.repeated, again.waiting_for) == ((), (what,), (which,))
        last = await give(answers, thread, {which: {"pick": "left"}})
        late = await give(answers, thread, {which: {"pick": "right"}})
        assert (late.repeated, late.run) == ((which,), None)
        await rig.ended(last.run)
    assert "said hello" in await rig.items(thread, "parallel")
    assert "picked left" in await rig.items(thread, "parallel")


async def test_an_answer_to_a_question_that_is_gone_is_refused(rig, answers):
    async with rig.working():
        thread, which, _ = await asked(rig, answers)
        newer = await rig.start(thread, "parallel", input={"items": ["never mind"]})
        await rig.ended(newer)
        with pytest.raises(AnswerRefused, match="Question not pending"):
            await give(answers, thread, {which: {"pick": "left"}})
        with pytest.raises(AnswerRefused, match="Question not pending"):
            await give(answers, thread, {"0" * 32: "hello"})


async def test_concurrent_answers_create_one_run(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(give(answers, thread, answer))
                for answer in ({which: {"pick": "left"}}, {what: "hello"}) * 10
            ]
        runs = [task.result().run for task in tasks if task.result().run is not None]
        assert len(runs) == 1
        assert (await rig.ended(runs[0])).status == "success"
    assert sorted(await rig.items(thread, "parallel")) == ["picked left", "said hello"]


async def test_only_the_owner_may_answer(rig, answers):
    async with rig.working():
        thread, which, _ = await asked(rig, answers)
        with pytest.raises(ThreadNotFound):
            await give(answers, thread, {which: {"pick": "left"}}, owner=BOB)


async def test_a_rolled_back_answer_may_be_given_again(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
    values = {which: {"pick": "left"}, what: "hello"}
    given = await give(answers, thread, values)
    await rig.runs.cancel(given.run.run_id, owner=ALICE, action="rollback")
    again = await give(answers, thread, {**values, what: "goodbye"})
    async with rig.working():
        assert (await rig.ended(again.run)).status == "success"
    assert "said goodbye" in await rig.items(thread, "parallel")


async def test_a_queued_message_carries_an_answer(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
    message = await rig.start(thread, "parallel", input={"items": ["never mind"]})
    first = await give(answers, thread, {what: "hello"})
    second = await give(answers, thread, {which: {"pick": "left"}})
    assert [first.run.run_id, second.run.run_id] == [message.run_id] * 2
    async with rig.working():
        await rig.ended(message)
    items = await rig.items(thread, "parallel")
    assert (sorted(items[:2]), items[2]) == (["picked left", "said hello"], "never mind")


async def test_a_running_message_closes_the_open_question(rig, answers):
    async with rig.working():
        thread, _, what = await asked(rig, answers)
    message = await rig.start(thread, "parallel", input={"items": ["never mind"]})
    assert (await rig.attempts.open(message.run_id)).status == "running"
    with pytest.raises(QuestionNotFound, match="superseded"):
        await give(answers, thread, {what: "hello"})


async def test_stopping_a_run_before_it_starts_reopens_its_questions(rig, answers):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
    values = {which: {"pick": "left"}, what: "hello"}
    given = await give(answers, thread, values)
    await rig.runs.cancel(given.run.run_id, owner=ALICE)
    again = await give(answers, thread, {**values, what: "goodbye"})
    assert set(again.taken) == {which, what}
    async with rig.working():
        assert (await rig.ended(again.run)).status == "success"
    assert sorted(await rig.items(thread, "parallel")) == ["picked left", "said goodbye"]


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
async def test_a_message_that_replaces_a_run_inherits_its_answers(rig, answers, strategy):
    async with rig.working():
        thread, which, what = await asked(rig, answers)
    await give(answers, thread, {which: {"pick": "left"}, what: "hello"})
    message = await rig.start(thread, "parallel", input={"items": ["so"]}, strategy=strategy)
    async with rig.working():
        await rig.ended(message)
    items = await rig.items(thread, "parallel")
    assert (sorted(items[:2]), items[2]) == (["picked left", "said hello"], "so")


async def test_an_answer_waits_for_a_question_that_is_not_saved_yet(rig, answers):
    thread = uuid4()
    run = await rig.start(thread, "parallel", input={"items": []})
    await rig.attempts.open(run.run_id)
    with pytest.raises(QuestionNotFound):
        async with asyncio.timeout(5):
            await give(answers, thread, {"0" * 32: "hello"})  # it was not told of: refused in time


async def test_stopping_a_running_run_withdraws_its_answers(rig, answers):
    thread = uuid4()
    async with rig.working():
        await rig.ended(await rig.start(thread, "answering", input={"delay": 1.0}))
        questions = await answers.pending(thread, owner=ALICE, graph="answering")
        old = dict.fromkeys(questions, "old")
        given = await answers.submit(thread, old, owner=ALICE, graph="answering")
        await rig.in_journal(thread, "right answered")
        await rig.runs.cancel(given.run.run_id, owner=ALICE)
        assert (await rig.ended(given.run)).status == "cancelled"
        new = dict.fromkeys(questions, "new")
        again = await answers.submit(thread, new, owner=ALICE, graph="answering")
        assert (await rig.ended(again.run)).status == "success"
    assert sorted(await rig.items(thread, "answering")) == ["left: new", "right: new"]
