"""What a run is asked to do survives its row."""

from bathysphere.engine.events.log import Event
from bathysphere.engine.records import Work


def test_work_reads_back_as_it_was():
    work = Work(resume={"i1": {"pick": "left"}}, goto=("a",), metadata={"k": 1}, modes=("values",))
    assert Work.from_json(work.to_json()) == work


def test_answers_and_jumps_are_commands_and_an_input_is_not():
    assert Work(resume={"i1": 1}).is_command
    assert Work(update={"n": 1}).is_command
    assert Work(goto=("a",)).is_command
    assert not Work(input={"n": 1}).is_command


def test_a_worker_ignores_what_a_newer_version_added_to_the_work():
    stored = {**Work(input={"n": 1}).to_json(), "from_a_newer_version": True}
    assert Work.from_json(stored) == Work(input={"n": 1})


def test_a_reader_ignores_what_a_newer_version_added_to_an_event():
    event = Event(channel="custom", run_id="r", data={"n": 1}, namespace=("a",))
    newer = event.encode().replace(b"{", b'{"from_a_newer_version": 1, ', 1)
    assert Event.decode(newer) == event
