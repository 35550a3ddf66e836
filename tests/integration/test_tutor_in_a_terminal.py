"""`bathysphere chat tutor` in a terminal, with a real folder and a scripted model over HTTP."""

import json
import subprocess

import pytest
from terminals import COMMAND, environment

from bathysphere.testing import ModelServer, calls, says

pytestmark = [pytest.mark.node, pytest.mark.timeout(180)]

DRAFT = "Inflation is a tax.\nIt falls on those who save.\nNobody voted for this tax.\n"
BETTER = "Inflation works like a tax.\nIt falls on those who save.\nNobody was asked.\n"
CHOICES = [{"id": "style", "label": "Style"}, {"id": "clarity", "label": "Clarity"}]


def picks(move):
    return says(json.dumps({"move": move, "why": "It is due."}))


def patch(search, replace):
    return calls(
        "patch_user_file",
        file_id="draft.md",
        search=search,
        replace=replace,
        description="Say it plainly.",
    )


@pytest.fixture(scope="module")
def running():
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(running):
    running.play([])
    return running


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "draft.md").write_text(DRAFT)
    return folder


def model(server):
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.openai_base_url}


@pytest.fixture
def talk(terminal, server, notes):
    """A talk with the tutor about the notes, up to the first prompt."""

    def begin(*script):
        server.play(script)
        args = ("chat", "tutor", "--files", str(notes), "--model", "openai:gpt-5")
        opened = terminal(*args, **model(server))
        opened.until("you > ")
        return opened

    return begin


def results(server):
    """What the last request told the model of its tool calls."""
    body = server.requests()[-1].body
    if "messages" in body:
        return [m["content"] for m in body["messages"] if m["role"] == "tool"]
    return [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]


def system(server, request=-1):
    return json.dumps(server.requests()[request].body)


def test_a_question_a_change_in_part_and_the_map(talk, server, notes, tmp_path):
    screen = talk(
        picks("clarify_term"),
        calls("ask_choices", question="What shall I improve?", options=CHOICES),
        picks("work"),
        calls("read_user_file", file_id="draft.md"),
        patch(DRAFT, BETTER),
        calls("propose_node", kind="claim", text="Inflation is a tax.", said="Improve this"),
        says("I changed what you took."),
        picks("summarise"),
        says("You accepted your claim."),
    )
    screen.press("Improve this\r")
    assert "clarify term" in screen.until("What shall I improve?")
    screen.until("a number > ")
    screen.press("2\r")

    assert "shared with the agent: draft.md 0-75, 75 bytes" in screen.until("part 1 of 2, line 1")
    screen.until("- Inflation is a tax.")
    screen.until("+ Inflation works like a tax.")
    screen.until("drop the rest (d) > ")
    screen.press("a\r")
    screen.until("part 2 of 2, line 3")
    screen.until("edit (e) > ")
    screen.press("r\r")
    screen.until("reason (optional) > ")
    screen.press("too blunt\r")
    screen.until("1 of 2 parts accepted")
    screen.until("I changed what you took.")
    assert (notes / "draft.md").read_text() == BETTER.replace(
        "Nobody was asked.", "Nobody voted for this tax."
    )
    told = next(text for text in results(server) if "took part" in text)
    assert "Inflation works like a tax." in told
    assert "- refused: too blunt: Nobody was asked." in told
    assert "The person chose: Clarity" in results(server)

    screen.until("you > ")
    screen.press("/map\r")
    screen.until("argument map")
    screen.until("└── 1 ? claim  Inflation is a tax.  (you)")
    screen.until("you > ")
    screen.press("/accept 1\r")
    screen.until("└── 1 ✓ claim")
    screen.until("you > ")
    screen.press("/disclosures\r")
    assert "read_user_file" in screen.until("by patch_user_file")
    screen.until("you > ")
    screen.press(f"/export {tmp_path}/map.argdown\r")
    screen.until("Wrote ")
    assert "Inflation is a tax." in (tmp_path / "map.argdown").read_text()
    screen.until("you > ")
    screen.press("Where do we stand?\r")
    screen.until("You accepted your claim.")
    assert "Inflation is a tax. (accepted; person)" in system(server)
    server.assert_done()


@pytest.mark.long(
    "tests/integration/test_tutor_in_a_terminal.py::test_a_question_a_change_in_part_and_the_map"
)
def test_a_patch_for_a_changed_file_is_never_applied_and_the_agent_recovers_in_the_same_run(
    talk, server, notes
):
    screen = talk(
        picks("work"),
        calls("read_user_file", file_id="draft.md"),
        patch("Nobody voted for this tax.", "Nobody was asked."),
        patch("Nobody chose this tax.", "Nobody was asked."),
        says("It is changed now."),
    )
    screen.press("Say the last line better\r")
    screen.until("edit (e) > ")
    (notes / "draft.md").write_text(DRAFT.replace("voted for", "chose"))  # in their own editor
    screen.press("a\r")
    screen.until("- Nobody chose this tax.")
    assert (notes / "draft.md").read_text() == DRAFT.replace("voted for", "chose")
    screen.until("edit (e) > ")
    screen.press("a\r")
    screen.until("It is changed now.")
    assert (notes / "draft.md").read_text() == DRAFT.replace(
        "Nobody voted for this tax.", "Nobody was asked."
    )
    conflict = results(server)[-2]
    assert "The person edited the document since you read it: nothing was changed." in conflict
    assert "Nobody chose this tax." in conflict
    server.assert_done()


@pytest.mark.long(
    "tests/integration/test_tutor_in_a_terminal.py::test_a_question_a_change_in_part_and_the_map"
)
def test_a_part_is_edited_in_the_editor_of_the_person(terminal, server, notes, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/asked/heard/ "$1"\n')
    editor.chmod(0o700)
    server.play(
        [
            picks("work"),
            calls("read_user_file", file_id="draft.md"),
            patch("Nobody voted for this tax.", "Nobody was asked."),
            says("Done as you wrote it."),
        ]
    )
    args = ("chat", "tutor", "--files", str(notes), "--model", "openai:gpt-5")
    screen = terminal(*args, EDITOR=str(editor), **model(server))
    screen.until("you > ")
    screen.press("Say the last line better\r")
    screen.until("edit (e) > ")
    screen.press("e\r")
    screen.until("Done as you wrote it.")
    assert (notes / "draft.md").read_text().endswith("Nobody was heard.\n")
    assert "the person edited it: Nobody was asked." in results(server)[-1]


@pytest.mark.parametrize(
    ("flags", "written", "told"),
    [
        ([], False, "The person refused it: nothing was changed. Reason: No one was available"),
        (["--approve", "all"], True, "Written (Thesis.md)."),
    ],
)
def test_a_script_writes_only_where_it_was_told_to(server, notes, flags, written, told):
    write = calls("write_user_file", title="Thesis", content="Money.\n", description="A start.")
    server.play([picks("work"), write, says("Done.")])
    args = ["chat", "tutor", "--files", str(notes), "--model", "openai:gpt-5", "--message", "Go"]
    shown = subprocess.run(
        [COMMAND, *args, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**model(server)),
        timeout=50,
    )
    assert shown.returncode == 0, shown.stderr
    assert (notes / "Thesis.md").exists() == written
    assert told in results(server)[-1]
    server.assert_done()
