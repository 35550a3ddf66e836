"""A nested graph is told of when it starts and ends, with the call that caused it."""

from typing import Any

from bathysphere.engine.events.lineage import Lineage

CALL = {"name": "task", "args": {"description": "look"}, "id": "c1", "type": "tool_call"}


def task(name: str, task_id: str, **data: Any) -> dict[str, Any]:
    return {"id": task_id, "name": name, **data}


def test_a_subagent_is_known_by_the_call_that_sent_it_out() -> None:
    lineage = Lineage()
    assert list(lineage.process("tasks", (), task("tools", "t1", input=[CALL]))) == []
    ((place, data),) = lineage.process("updates", ("tools:t1",), {})
    assert place == ("tools:t1",)
    assert (data["event"], data["graph"]) == ("started", "tools")
    assert data["cause"] == {"type": "toolCall", "tool_call_id": "c1"}
    assert list(lineage.process("updates", ("tools:t1",), {})) == []


def test_parallel_subagents_are_told_apart() -> None:
    lineage = Lineage()
    for number in ("1", "2"):
        call = {**CALL, "id": f"c{number}"}
        list(lineage.process("tasks", (), task("tools", f"t{number}", input=[call])))
    causes = [
        data["cause"]["tool_call_id"]
        for number in ("2", "1")
        for _, data in lineage.process("messages", (f"tools:t{number}",), {})
    ]
    assert causes == ["c2", "c1"]


def test_its_end_is_told_only_if_it_was_a_graph() -> None:
    lineage = Lineage()
    for number in ("1", "2", "3", "4"):
        list(lineage.process("tasks", (), task("tools", f"t{number}", input=[CALL])))
    for number in ("1", "2", "3"):
        list(lineage.process("values", (f"tools:t{number}",), {}))
    ends = [
        [data["event"] for _, data in lineage.process("tasks", (), task("tools", name, **result))]
        for name, result in (
            ("t1", {"error": None, "interrupts": []}),
            ("t2", {"error": None, "interrupts": [{"id": "q"}]}),
            ("t3", {"error": "boom", "interrupts": []}),
            ("t4", {"error": None, "interrupts": []}),
        )
    ]
    assert ends == [["completed"], ["interrupted"], ["failed"], []]


def test_a_graph_in_a_graph_is_told_of_with_its_parents() -> None:
    places = [place for place, _ in Lineage().process("updates", ("a:1", "b:2"), {})]
    assert places == [("a:1",), ("a:1", "b:2")]
