"""Where files are kept: state, store, disk, and several at once, through `AgentSpec.backend`."""

from deepagents.backends import CompositeBackend, FilesystemBackend, LocalShellBackend, StoreBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    EditResult,
    FileInfo,
    GrepMatch,
    ReadResult,
    WriteResult,
)
from langgraph.store.memory import InMemoryStore

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.harness.spec import AgentSpec
from bathysphere.harness.stack import main_agent, subagent
from bathysphere.testing import ScriptedChatModel, calls, says


def write(path, content="kept"):
    return calls("write_file", file_path=path, content=content)


def read(path):
    return calls("read_file", file_path=path)


# ── the protocol ──


def test_a_backend_has_these_operations_each_also_async():
    for name in ("ls", "read", "grep", "glob", "write", "edit", "delete"):
        assert callable(getattr(BackendProtocol, name))
        assert callable(getattr(BackendProtocol, f"a{name}"))


def test_results_carry_an_error_or_what_was_done():
    assert WriteResult(error="no").path is None
    assert EditResult(path="/a", occurrences=2) == EditResult(error=None, path="/a", occurrences=2)
    assert ReadResult(error="no").file_data is None
    assert not hasattr(WriteResult(path="/a"), "files_update")


def test_listings_and_matches_have_these_fields():
    assert FileInfo.__required_keys__ == {"path"}
    assert FileInfo.__optional_keys__ == {"is_dir", "size", "modified_at"}
    assert GrepMatch.__required_keys__ == {"path", "line", "text"}


# ── state ──


def test_without_a_backend_files_live_in_state_and_only_in_their_thread(talk):
    agent = talk(write("/a.md"), says("Wrote."), read("/a.md"), says("Read."), read("/a.md"))
    assert isinstance(agent.spec.backend, ScratchBackend)
    agent.send(thread="1")
    assert agent.send(thread="1")["messages"][-2].text.endswith("kept")
    assert "not found" in agent.send(thread="2")["messages"][-2].text
    agent.done()


def test_files_given_by_a_client_and_by_tools_merge_in_state(talk):
    agent = talk(write("/b.md"), says("Wrote."))
    agent.send(files={"/a.md": {"content": "given", "encoding": "utf-8"}})
    state = agent.send("More.", files={"/c.md": {"content": "later", "encoding": "utf-8"}})
    assert {p: f["content"] for p, f in state["files"].items()} == {
        "/a.md": "given",
        "/b.md": "kept",
        "/c.md": "later",
    }


def test_a_failed_operation_leaves_the_files_as_they_were(run):
    ran = run(
        write("/a.md", "a a"),
        calls("edit_file", file_path="/a.md", old_string="a", new_string="b"),
        write("../x"),
        calls("delete", file_path="/none"),
    )
    assert ran.statuses == ["success", "error", "error", "error"]
    assert ran.files == {"/a.md": "a a"}


# ── store ──


def test_a_store_backend_keeps_files_across_threads(talk):
    agent = talk(
        write("/a.md"),
        says("Wrote."),
        read("/a.md"),
        backend=StoreBackend(namespace=lambda _: ("team",)),
        store=InMemoryStore(),
    )
    agent.send(thread="1")
    state = agent.send(thread="2")
    assert state["messages"][-2].text.endswith("kept")
    assert not state.get("files")


def test_a_store_backend_without_a_store_fails_as_a_result(run):
    ran = run(write("/a.md"), backend=StoreBackend(namespace=lambda _: ("team",)))
    assert ran.statuses == ["error"]
    assert ran.texts[0].startswith("The tool `write_file` failed")


# ── disk ──


def test_a_filesystem_backend_reads_and_writes_real_files_under_its_root(run, tmp_path):
    (tmp_path / "in.txt").write_text("hello")
    ran = run(
        read("/in.txt"),
        write("/out/report.md", "done"),
        calls("edit_file", file_path="/in.txt", old_string="hello", new_string="bye"),
        calls("ls", path="/"),
        calls("grep", pattern="done"),
        calls("glob", pattern="*.md"),
        backend=FilesystemBackend(root_dir=tmp_path, virtual_mode=True),
    )
    assert ran.texts[0].endswith("hello")
    assert ran.texts[3:] == ["['/in.txt', '/out/']", "/out/report.md", "['/out/report.md']"]
    assert (tmp_path / "out/report.md").read_text() == "done"
    assert (tmp_path / "in.txt").read_text() == "bye"
    assert not ran.state.get("files")


# ── several at once ──


def memories():
    return CompositeBackend(
        default=ScratchBackend(),
        routes={"/memories/": StoreBackend(namespace=lambda _: ("team",))},
    )


def test_a_composite_backend_keeps_memories_and_forgets_the_rest(talk):
    agent = talk(
        write("/memories/a.md"),
        write("/draft.md"),
        calls("ls", path="/"),
        says("Wrote."),
        read("/memories/a.md"),
        read("/draft.md"),
        calls("grep", pattern="kept"),
        backend=memories(),
        store=InMemoryStore(),
    )
    first = agent.send(thread="1")
    assert first["messages"][-2].text == "['/draft.md', '/memories/']"
    second = [m.text for m in agent.send(thread="2")["messages"] if m.type == "tool"]
    assert second[0].endswith("kept")
    assert second[1:] == ["Error: File '/draft.md' not found", "/memories/a.md"]


def test_a_composite_backend_falls_back_to_its_default_for_every_other_path(run):
    ran = run(
        write("/memories-not/a.md"), write("/deep/memories/b.md"), backend=memories(), store=None
    )
    assert sorted(ran.files) == ["/deep/memories/b.md", "/memories-not/a.md"]


def test_a_part_of_a_composite_that_fails_does_not_stop_the_others(run):
    ran = run(write("/memories/a.md"), write("/draft.md"), backend=memories(), store=None)
    assert ran.statuses == ["error", "success"]
    assert list(ran.files) == ["/draft.md"]


# ── shared, and with a shell ──


def test_all_agents_of_a_tree_use_the_one_backend_object():
    spec = AgentSpec(name="test", model=ScriptedChatModel(script=[]))
    agents = [main_agent(spec), *(subagent(spec, sub) for sub in spec.subagents)]
    assert [agent.stack.core[0].backend for agent in agents] == [spec.backend] * 2


def test_there_is_no_shell_unless_the_backend_has_one(run, tmp_path):
    assert "execute" not in run().model.tools_seen[0]
    shell = LocalShellBackend(root_dir=tmp_path, virtual_mode=True)
    ran = run(calls("execute", command="echo deep"), backend=shell, approvals={"execute": False})
    assert "execute" in ran.model.tools_seen[0]
    assert "deep" in ran.texts[0]


class Broken(ScratchBackend):
    """A storage that is down."""

    def read(self, file_path, offset=0, limit=2000):
        raise ConnectionError("the store is down")

    async def aread(self, file_path, offset=0, limit=2000):
        raise ConnectionError("the store is down")


def test_a_backend_that_raises_becomes_a_result_in_words(run):
    ran = run(read("/a.md"), write("/b.md"), backend=Broken())
    assert ran.statuses == ["error", "success"]
    assert ran.texts[0] == "The tool `read_file` failed: ConnectionError: the store is down."
