"""What a run is asked to do survives its row."""

from bathysphere.engine.records import Work


def test_work_reads_back_as_it_was():
    work = Work(resume={"i1": {"pick": "left"}}, goto=("a",), metadata={"k": 1}, modes=("values",))
    assert Work.from_json(work.to_json()) == work


def test_answers_and_jumps_are_commands_and_an_input_is_not():
    assert Work(resume={"i1": 1}).is_command
    assert Work(update={"n": 1}).is_command
    assert Work(goto=("a",)).is_command
    assert not Work(input={"n": 1}).is_command
