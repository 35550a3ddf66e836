"""`/files`, `/show` and `/save`: what the agent keeps, in the terminal and on disk."""

import base64
import io

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere import create_deep_agent
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.commands import Commands
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.session import Session
from bathysphere.testing import ScriptedChatModel, calls, says

FILES = {
    "/notes.md": {"content": "One.\nTwo.\n", "encoding": "utf-8"},
    "/reports/final report.md": {"content": "Done.", "encoding": "utf-8"},
    "/lines.txt": {"content": ["a", "b"]},
    "/picture.png": {"content": base64.b64encode(b"\x89PNG").decode(), "encoding": "base64"},
    "/gone.md": {"content": "", "encoding": "utf-8", "deleted": True},
    "/plain.txt": "plain",
    "/wrong.bin": {"content": "abc", "encoding": "base64"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def shown(*lines, files=FILES, answers=()):
    out = io.StringIO()
    source = io.StringIO("".join(f"{answer}\n" for answer in answers))
    commands = Commands(
        screen=Screen(out=out, source=source), values=lambda: {"files": files}, has_map=False
    )
    taken = [commands.handle(line) for line in lines]
    assert taken == [True] * len(lines)
    return out.getvalue()


def test_help_lists_the_commands():
    listed = shown("/help")
    for command in ("/files ", "/show PATH ", "/save PATH [TO] "):
        assert command in listed


def test_files_are_listed_with_their_sizes_without_deleted_ones():
    assert shown("/files").splitlines() == [
        "    /lines.txt  3 bytes",
        "    /notes.md  10 bytes",
        "    /picture.png  4 bytes",
        "    /plain.txt  5 bytes",
        "    /reports/final report.md  5 bytes",
        "    /wrong.bin  3 bytes",
    ]


@pytest.mark.parametrize("files", [{}, None, ["not", "a", "mapping"], {"/a": None}])
@pytest.mark.parametrize("line", ["/files", "/show /a", "/save /a"])
def test_without_files_that_is_said(files, line):
    assert shown(line, files=files) == "The agent has no files in this conversation.\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("/show /notes.md", "    One.\n    Two.\n"),
        ("/show notes.md", "    One.\n    Two.\n"),
        ("/show /reports/final report.md", "    Done.\n"),
        ("/show /lines.txt", "    a\n    b\n"),
        ("/show /plain.txt", "    plain\n"),
        ("/show /picture.png", "A binary file of 4 bytes; /save writes it to disk.\n"),
        ("/show /gone.md", "Unknown file: /gone.md. /files lists them.\n"),
        ("/show", "No file given. /files lists them.\n"),
        ("/save", "No file given. /files lists them.\n"),
        ("/save /nothing here", "Unknown file: /nothing. /files lists them.\n"),
    ],
)
def test_one_is_shown_or_it_is_said_why_not(line, text):
    assert shown(line) == text


def test_no_control_character_of_a_name_or_a_text_reaches_the_terminal(folder):
    evil = {"/\x1b[2Jx.md": "\x1b]0;title\x07 a\rb\u202ec\u2028d\x85e\r\nnext"}
    [name] = evil
    text = shown("/files", f"/show {name}", "/show \x1b[2J", f"/save {name} ok.md", files=evil)
    assert "\x1b" not in text
    assert not set("\x07\r\u202e\u2028\x85") & set(text)
    assert "⟨U+001B⟩]0;title⟨U+0007⟩ a⟨U+000D⟩b⟨U+202E⟩c⟨U+2028⟩d⟨U+0085⟩e\n    next" in text
    assert (folder / "ok.md").read_bytes() == evil[name].encode()  # on disk it is what it is


@pytest.mark.parametrize(
    ("line", "path", "content"),
    [
        ("/save /notes.md", "here/notes.md", b"One.\nTwo.\n"),
        ("/save /notes.md other.md", "here/other.md", b"One.\nTwo.\n"),
        ("/save notes.md 'two words.md'", "here/two words.md", b"One.\nTwo.\n"),
        ("/save /notes.md ../up.md", "up.md", b"One.\nTwo.\n"),
        ("/save /notes.md ..", "notes.md", b"One.\nTwo.\n"),
        ("/save /reports/final report.md", "here/final report.md", b"Done."),
        ("/save '/reports/final report.md' r.md", "here/r.md", b"Done."),
        ("/save /picture.png", "here/picture.png", b"\x89PNG"),
    ],
)
def test_one_is_saved_and_the_whole_path_is_said(tmp_path, line, path, content):
    text = shown(line)
    assert text.startswith(f"Wrote {tmp_path.resolve() / path} (")
    assert (tmp_path / path).read_bytes() == content


@pytest.mark.parametrize("name", ["/..", "/a/..", "/\x1b.md", "/\u202efdp.md"])
def test_a_name_that_leads_elsewhere_or_hides_something_is_not_used_on_disk(tmp_path, name):
    text = shown(f"/save {name}", files={name: "x"})
    assert text == "This name does not fit here; add another: /save PATH TO\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


@pytest.mark.parametrize(
    ("answer", "content"), [("n", "mine"), ("", "mine"), ("y", "One.\nTwo.\n")]
)
def test_a_file_that_is_there_is_replaced_only_if_the_person_says_so(folder, answer, content):
    (folder / "notes.md").write_text("mine")
    text = shown("/save /notes.md", answers=[answer])
    assert "notes.md exists. Overwrite? (y/n)" in text
    assert ("not written" in text) == (answer != "y")
    assert (folder / "notes.md").read_text() == content


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_link_is_followed_only_if_the_person_says_so(folder, tmp_path, there, answer):
    target = tmp_path / "outside.md"
    if there:
        target.write_text("mine")
    (folder / "notes.md").symlink_to(target)
    text = shown("/save /notes.md", answers=[answer])
    assert f"notes.md is a link to {target.resolve()}. Write there? (y/n)" in text
    if answer == "y":
        assert target.read_text() == "One.\nTwo.\n"
        assert f"Wrote {target.resolve()} (10 bytes)." in text
    else:
        assert target.exists() == there


def test_a_place_that_cannot_be_written_is_a_sentence():
    text = shown("/save /notes.md nowhere/")
    assert text == "Cannot write nowhere/notes.md: No such file or directory\n"


def test_files_of_a_conversation_can_be_shown_after_the_turn(folder):
    script = [calls("write_file", file_path="/a.md", content="deep\n"), says("Written.")]
    lines = ("Write it", "/files", "/show /a.md", "/save /a.md", "/exit")
    out = io.StringIO()
    screen = Screen(out=out, source=io.StringIO("".join(f"{line}\n" for line in lines)))
    graph = create_deep_agent(ScriptedChatModel(script=script), checkpointer=InMemorySaver())
    session = Session(graph=graph, screen=screen, answers=Answers(screen=screen), has_map=False)
    assert session.talk(agent="t", model="scripted", is_default=False) == 0
    assert "    /a.md  5 bytes\n" in out.getvalue()
    assert "    deep\n" in out.getvalue()
    assert (folder / "a.md").read_text() == "deep\n"
