"""The file tools, through the agent, on its scratch files."""

import pytest

from bathysphere.testing import calls, together

LINES = "\n".join(f"line {i}" for i in range(250))


def write(path="/notes/a.md", content=LINES):
    return calls("write_file", file_path=path, content=content)


# ── ls ──


def test_ls_lists_files_and_folders_of_one_level(run):
    ran = run(write("/a.md"), write("/b/c.md"), calls("ls", path="/"), calls("ls", path="/b"))
    assert ran.texts[2:] == ["['/a.md', '/b/']", "['/b/c.md']"]


def test_ls_of_nothing_says_so(run):
    assert run(calls("ls", path="/nowhere")).texts == ["No files found"]


# ── read_file ──


def test_read_file_gives_the_text_as_it_is_under_a_header(run):
    ran = run(write(content="one\n\ttwo"), calls("read_file", file_path="/notes/a.md"))
    assert ran.texts[1] == "@@ lines 1-2 of 2 @@\none\n\ttwo"


def test_read_file_stops_at_100_lines_unless_told(run):
    ran = run(write(), calls("read_file", file_path="/notes/a.md"))
    header, *lines = ran.texts[1].splitlines()
    assert header == "@@ lines 1-100 of 250 | next offset 100 @@"
    assert (lines[0], lines[-1], len(lines)) == ("line 0", "line 99", 100)


def test_read_file_pages_with_offset_and_limit(run):
    ran = run(
        write(),
        calls("read_file", file_path="/notes/a.md", offset=5, limit=3),
        calls("read_file", file_path="/notes/a.md", offset=248, limit=50),
        calls("read_file", file_path="/notes/a.md", limit=2000),
    )
    assert ran.texts[1] == "@@ lines 6-8 of 250 | next offset 8 @@\nline 5\nline 6\nline 7"
    assert ran.texts[2] == "@@ lines 249-250 of 250 @@\nline 248\nline 249"
    assert len(ran.texts[3].splitlines()) == 251


def test_a_line_too_long_for_the_model_is_cut_and_the_header_says_so(run):
    ran = run(write(content="z" * 100_000), calls("read_file", file_path="/notes/a.md"))
    assert "truncated mid-line" in ran.texts[1]
    assert "of 100000 chars" in ran.texts[1]
    assert len(ran.texts[1]) <= 80_100


def test_an_empty_file_is_not_a_missing_one(run):
    ran = run(
        write("/e", ""), calls("read_file", file_path="/e"), calls("read_file", file_path="/f")
    )
    assert "empty contents" in ran.texts[1]
    assert ran.texts[2] == "Error: File '/f' not found"
    assert ran.statuses == ["success", "success", "error"]


# ── write_file ──


def test_write_file_creates_and_overwrites(run):
    ran = run(write("/a.md", "old"), write("/a.md", "new"))
    assert ran.statuses == ["success", "success"]
    assert ran.files == {"/a.md": "new"}


def test_writing_one_path_twice_in_one_message_is_refused(run):
    ran = run(together(write("/a.md", "one"), write("/a.md", "two")))
    assert "parallel file mutations to the same path are not allowed" in "".join(ran.texts)
    assert "error" in ran.statuses


# ── edit_file ──


def edit(old, new, **more):
    return calls("edit_file", file_path="/notes/a.md", old_string=old, new_string=new, **more)


def test_edit_file_replaces_one_exact_string(run):
    ran = run(write(content="one two"), edit("two", "three"))
    assert ran.files == {"/notes/a.md": "one three"}


def test_an_ambiguous_edit_changes_nothing_and_says_how_often_it_matched(run):
    ran = run(write(content="a b a"), edit("a", "c"))
    assert ran.statuses[1] == "error"
    assert "appears 2 times" in ran.texts[1]
    assert ran.files == {"/notes/a.md": "a b a"}


def test_replace_all_replaces_every_one(run):
    ran = run(write(content="a b a"), edit("a", "c", replace_all=True))
    assert "2 instance(s)" in ran.texts[1]
    assert ran.files == {"/notes/a.md": "c b c"}


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (edit("absent", "x"), "String not found in file: 'absent'"),
        (
            calls("edit_file", file_path="/none", old_string="a", new_string="b"),
            "File '/none' not found",
        ),
    ],
)
def test_an_edit_that_cannot_be_made_is_an_error_and_changes_nothing(run, turn, words):
    ran = run(write(content="a"), turn)
    assert ran.statuses[1] == "error"
    assert words in ran.texts[1]
    assert ran.files == {"/notes/a.md": "a"}


# ── delete, glob, grep ──


def test_delete_removes_a_file_or_a_whole_folder(run):
    ran = run(
        write("/a/1.md"),
        write("/a/2.md"),
        write("/b.md"),
        calls("delete", file_path="/a"),
        calls("ls", path="/"),
        calls("read_file", file_path="/a/1.md"),
    )
    assert ran.texts[3:] == ["Deleted /a", "['/b.md']", "Error: File '/a/1.md' not found"]
    assert list(ran.files) == ["/b.md"]


def test_a_deleted_file_is_gone_from_state_in_the_next_run(talk):
    agent = talk(write("/a.md", "x"), calls("delete", file_path="/a.md"), calls("ls", path="/"))
    agent.model.script = [*agent.model.script, *agent.model.script[-1:]]
    agent.send()
    assert agent.send("Again.")["files"] == {}


def test_glob_finds_files_by_pattern(run):
    ran = run(
        write("/a.md"),
        write("/src/b.py"),
        write("/src/deep/c.py"),
        calls("glob", pattern="*.py"),
        calls("glob", pattern="*.py", path="/src/deep"),
        calls("glob", pattern="src/*.py"),
        calls("glob", pattern="*.rs"),
    )
    assert ran.texts[3:] == [
        "['/src/deep/c.py', '/src/b.py']",  # the newest first
        "['/src/deep/c.py']",
        "['/src/b.py']",
        "No files found",
    ]


def test_grep_finds_literal_text_in_three_forms(run):
    ran = run(
        write("/a.md", "one\nt.o\n"),
        write("/b.txt", "t.o t.o\n"),
        calls("grep", pattern="t.o"),
        calls("grep", pattern="t.o", output_mode="content"),
        calls("grep", pattern="t.o", output_mode="count", glob="*.md"),
        calls("grep", pattern="t.o", path="/sub"),
        calls("grep", pattern="t.*o"),
    )
    assert ran.texts[2].splitlines() == ["/a.md", "/b.txt"]
    assert ran.texts[3] == "/a.md:\n  2: t.o\n/b.txt:\n  1: t.o t.o"
    assert ran.texts[4] == "/a.md: 1"
    assert ran.texts[5] == "No matches found"
    assert ran.texts[6].startswith("No matches found\n\nNote: grep matches literal text")


# ── all of them ──


def test_every_result_answers_the_call_that_asked_for_it(run):
    ran = run(
        calls("write_file", {"file_path": "/a.md", "content": "x"}, id="w1"),
        calls("read_file", {"file_path": "/a.md"}, id="r1"),
    )
    assert [(m.tool_call_id, m.name) for m in ran.results] == [
        ("w1", "write_file"),
        ("r1", "read_file"),
    ]


def test_arguments_are_checked_before_a_tool_runs(run):
    ran = run(calls("write_file", file_path="/a.md"), calls("read_file", path="/a.md"))
    assert ran.statuses == ["error", "error"]
    assert "content: Field required" in ran.texts[0]
    assert "file_path: Field required" in ran.texts[1]
    assert ran.files == {}


def test_no_file_of_the_machine_is_touched(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run(
        write("/a.md", "x"),
        write(f"{tmp_path}/b.md", "x"),
        calls("read_file", file_path="/etc/hostname"),
    )
    assert list(tmp_path.iterdir()) == []
    assert ran.texts[2] == "Error: File '/etc/hostname' not found"


def test_a_stored_file_has_text_encoding_and_times(run):
    stored = run(write("/a.md", "x\ny")).state["files"]["/a.md"]
    assert (stored["content"], stored["encoding"]) == ("x\ny", "utf-8")
    assert stored["created_at"] <= stored["modified_at"]
    assert stored["created_at"].endswith("+00:00")
