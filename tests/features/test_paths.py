"""Path security: a bad path is a result the model can read; the run goes on."""

import pytest
from deepagents import FilesystemPermission
from deepagents.backends import FilesystemBackend

from bathysphere.harness.spec import SubagentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

BAD = ["../etc/passwd", "/a/../../etc/passwd", "~/.ssh/id", r"a\..\..\b", r"C:\Windows\x", "D:/x"]


@pytest.mark.parametrize("path", BAD)
def test_a_path_that_leaves_the_root_is_refused_and_the_run_goes_on(run, path):
    ran = run(
        calls("read_file", file_path=path),
        calls("write_file", file_path=path, content="x"),
        calls("edit_file", file_path=path, old_string="a", new_string="b"),
        calls("delete", file_path=path),
        calls("ls", path="/"),
    )
    assert ran.statuses[:4] == ["error"] * 4
    assert all("not allowed" in t or "not supported" in t for t in ran.texts[:4])
    assert ran.texts[4] == "No files found"
    assert ran.state["messages"][-1].text == "Done."


@pytest.mark.parametrize("path", BAD[:3])
def test_ls_glob_and_grep_refuse_it_too(run, path):
    ran = run(
        calls("ls", path=path),
        calls("glob", pattern="*", path=path),
        calls("grep", pattern="x", path=path),
        calls("glob", pattern="../*"),
    )
    assert ran.statuses == ["error"] * 4


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a.md", "/a.md"),
        ("/./a//b.md", "/a/b.md"),
        (r"a\b.md", "/a/b.md"),
        ("/a..b.md", "/a..b.md"),
    ],
)
def test_a_harmless_path_is_written_with_forward_slashes_from_the_root(run, given, kept):
    assert list(run(calls("write_file", file_path=given, content="x")).files) == [kept]


def test_the_id_of_a_tool_call_becomes_a_safe_file_name(run):
    def flood() -> str:
        """Say too much."""
        return "y" * 90_000

    ran = run(calls("flood", {}, id="../../call/1"), tools=(flood,))
    [path] = ran.files
    assert path.startswith("/large_tool_results/")
    assert "/" not in path.removeprefix("/large_tool_results/")
    assert ".." not in path


@pytest.fixture
def disk(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "way-out").symlink_to(tmp_path)
    return root


@pytest.mark.parametrize("path", ["/way-out/secret.txt", *BAD[:4], "/a\0b"])
def test_on_disk_neither_a_link_nor_a_path_gets_out_of_the_root(run, disk, path):
    ran = run(
        calls("read_file", file_path=path),
        calls("write_file", file_path=path, content="x"),
        calls("edit_file", file_path=path, old_string="secret", new_string="x"),
        calls("delete", file_path=path),
        backend=FilesystemBackend(root_dir=disk, virtual_mode=True),
    )
    assert ran.statuses == ["error"] * 4
    assert (disk.parent / "secret.txt").read_text() == "secret"
    assert [p.name for p in disk.iterdir()] == ["way-out"]
    assert not any(text.endswith("secret") for text in ran.texts)


ONLY_WORK = (
    FilesystemPermission(operations=["read", "write"], paths=["/work/**"], mode="allow"),
    FilesystemPermission(operations=["read", "write"], paths=["/**"], mode="deny"),
)


def test_a_spec_can_allow_one_folder_and_deny_the_rest(run):
    ran = run(
        calls("write_file", file_path="/work/a.md", content="x"),
        calls("write_file", file_path="/b.md", content="x"),
        calls("read_file", file_path="/b.md"),
        calls("delete", file_path="/b.md"),
        permissions=ONLY_WORK,
    )
    assert ran.statuses == ["success", "error", "error", "error"]
    assert "permission denied for write on /b.md" in ran.texts[1]
    assert list(ran.files) == ["/work/a.md"]


def test_subagents_have_the_same_permissions_unless_told(run):
    helper = ScriptedChatModel(
        script=[calls("write_file", file_path="/b.md", content="x"), says("Tried.")]
    )
    ran = run(
        calls("task", description="Write.", subagent_type="writer"),
        subagents=(SubagentSpec(name="writer", description="Writes.", model=helper),),
        permissions=ONLY_WORK,
    )
    assert "permission denied" in helper.requests[1][-1].text
    assert ran.files == {}
