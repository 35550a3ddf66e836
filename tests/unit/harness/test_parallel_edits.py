"""Subagents that edit one file at the same time: every edit is kept."""

import pytest
from langchain_core.tools import tool
from trees import by_role, calls, run, says, send_out, tree

from bathysphere.backends import scratch

PAGE = "\n".join(f"line {n}: old" for n in "abcdefgh")


def editors(count: int, edits: int = 1):
    """A main agent that sends out editors, each of which edits its own line of one file."""

    def worker(who, n):
        if n < edits:
            before = "old" if n == 0 else f"new {n - 1}"
            return calls(
                "edit_file",
                file_path="/page.md",
                old_string=f"line {who}: {before}",
                new_string=f"line {who}: new {n}",
            )
        return says("edited")

    return by_role(
        main=lambda n: says("all edited") if n else send_out(*"abcdefgh"[:count]), worker=worker
    )


def page(content: str) -> dict:
    return {"/page.md": {"content": content, "encoding": "utf-8"}}


@pytest.mark.parametrize("count", range(2, 9))
def test_no_edit_of_parallel_subagents_is_lost(mode, count):
    state = run(tree(editors(count)), mode, files=page(PAGE))
    text = state["files"]["/page.md"]["content"]
    assert [line for line in text.splitlines() if line.endswith("new 0")] == [
        f"line {n}: new 0" for n in "abcdefgh"[:count]
    ]
    assert set(state["files"]) == {"/page.md"}


def test_many_edits_of_each_are_all_there(mode):
    state = run(tree(editors(6, edits=5)), mode, files=page(PAGE))
    text = state["files"]["/page.md"]["content"]
    assert [f"line {n}: new 4" in text for n in "abcdef"] == [True] * 6


def test_edits_that_meet_without_having_seen_each_other_are_both_kept(mode, monkeypatch):
    # As if each subagent worked in a process of its own.
    monkeypatch.setattr(scratch.ScratchBackend, "_shared", lambda self: None)
    state = run(tree(editors(3)), mode, files=page(PAGE))
    files = state["files"]
    kept = "\n".join(stored["content"] for stored in files.values())
    assert [f"line {n}: new 0" in kept for n in "abc"] == [True] * 3
    assert sum(path.startswith("/page.md.conflict-") for path in files) == 2


def test_what_a_subagent_deleted_is_gone_for_its_parent(mode):
    model = by_role(
        main=lambda n: [send_out("a"), calls("ls", path="/"), says("ok")][n],
        worker=lambda who, n: says("gone") if n else calls("delete", file_path="/page.md"),
    )
    state = run(tree(model), mode, files={**page(PAGE), "/other.md": page("x")["/page.md"]})
    listing = [m.text for m in state["messages"] if m.type == "tool"][-1]
    assert "/other.md" in listing
    assert "/page.md" not in listing


def test_a_step_that_is_run_again_starts_from_the_files_of_its_checkpoint():
    from langgraph.checkpoint.memory import InMemorySaver

    from bathysphere.harness.build import build

    attempts = []

    @tool
    def flaky() -> str:
        """Fail the process once."""
        attempts.append(1)
        if len(attempts) == 1:
            raise KeyboardInterrupt
        return "ok"

    model = by_role(
        main=lambda n: says("done") if n else send_out("a"),
        worker=lambda who, n: [
            calls("edit_file", file_path="/page.md", old_string="old", new_string="new"),
            calls("flaky"),
            says("edited"),
        ][n],
    )
    graph = build(tree(model, flaky), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    given = {"messages": [("user", "go")], "files": page("old text")}
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(given, config)
    state = graph.invoke(None, config)
    assert state["files"]["/page.md"]["content"] == "new text"
    assert set(state["files"]) == {"/page.md"}


def test_an_edit_whose_step_was_not_saved_is_made_again():
    from langgraph.checkpoint.memory import InMemorySaver

    from bathysphere.harness.build import build
    from bathysphere.testing import ScriptedChatModel

    class Unreliable(InMemorySaver):
        fails = True

        def put_writes(self, config, writes, task_id, task_path=""):
            if self.fails and writes[0][0] == "files":  # the tool's, not the input's
                self.fails = False
                raise OSError("the database went away")
            super().put_writes(config, writes, task_id, task_path)

    edit = calls("edit_file", file_path="/page.md", old_string="old", new_string="new")
    model = ScriptedChatModel(script=[edit, says("edited")])
    graph = build(tree(model), checkpointer=Unreliable())
    config = {"configurable": {"thread_id": "1"}}
    given = {"messages": [("user", "go")], "files": page("old text")}
    with pytest.raises(OSError, match="went away"):
        graph.invoke(given, config, durability="sync")
    state = graph.invoke(None, config, durability="sync")
    assert [m.status for m in state["messages"] if m.type == "tool"] == ["success"]
    assert state["files"]["/page.md"]["content"] == "new text"


def test_a_run_that_is_over_leaves_nothing_behind_in_the_process(mode):
    from bathysphere.middleware import limits

    state = run(tree(editors(3)), mode, files=page(PAGE))
    assert state["run_id"] not in scratch._live._runs
    assert state["run_id"] not in limits._meters._runs
