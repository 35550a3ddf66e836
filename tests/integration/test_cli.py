"""The installed command in processes of its own: pipes, one message, a terminal with Ctrl-C."""

import subprocess
import time

import pytest
from terminals import COMMAND, environment


def bathysphere(*args, typed="", **more):
    return subprocess.run(
        [COMMAND, *args],
        input=typed,
        capture_output=True,
        text=True,
        env=environment(**more),
        timeout=50,
    )


def test_the_tour_through_a_pipe_with_an_approval():
    shown = bathysphere("chat", typed="Hello\nSort my photos\na\n")
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert shown.stdout.startswith(
        "simple on demo:tour. Ctrl-C interrupts, Ctrl-D exits.\n"
        "No model is configured; a scripted tour answers. See `bathysphere models`.\n"
    )
    assert "    - Your answer goes here.\n    + Your answer: Sort my photos\n" in shown.stdout
    assert shown.stdout.count("needs your approval") == 1
    assert "    ✓ Change the note, if you allow it\n" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_the_tour_of_the_tutor_on_a_folder_with_no_model_and_no_key(tmp_path):
    (tmp_path / "money.md").write_text("People went on taking dollars.\n")
    typed = "Money is trust\nOthers take it\n1,3\na\na\nr\nnot yet\n/map\n/disclosures\n"
    shown = bathysphere("chat", "tutor", "--files", str(tmp_path), typed=typed)
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert f"The agent can read the text files in {tmp_path}; you approve" in shown.stdout
    assert "  [ask premise] " in shown.stdout
    assert "  └── 1 ✓ claim  Money is trust  (you)\n" in shown.stdout
    assert "money.md  0-31  31 bytes" in shown.stdout
    note = (tmp_path / "tour-of-the-tutor.md").read_text()
    assert "The tutor asks you what you think." in note
    assert "The tutor decides what is in it." in note


def test_one_message_prints_the_answer_and_leaves():
    shown = bathysphere("chat", "simple", "--message", "Hello", "--model", "demo:tour")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Welcome aboard.")
    assert "No one is available to answer. State your assumption and continue." in shown.stdout
    assert "7 model calls · 5 tool calls" in shown.stdout


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["chat", "nobody"], "hint: choose research, simple"),
        (["chat", "--model", "nonsense"], "hint: use provider:name"),
        (["chat", "research", "--files", "."], "hint: `bathysphere chat --files FOLDER`"),
        (["chat", "tutor", "--files", "/nowhere"], "hint: pass the path of a folder to --files"),
        (["chat", "--model", "anthropic:claude-sonnet-4-6"], "hint: set ANTHROPIC_API_KEY"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_with_a_hint(args, hint):
    shown = bathysphere(*args)
    assert shown.returncode == 1
    assert shown.stderr.startswith("error: ")
    assert hint in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_model_server_that_is_not_there_does_not_end_the_talk():
    where = {"OLLAMA_BASE_URL": "http://127.0.0.1:9", "BATHYSPHERE_MODEL_RETRIES": "0"}
    shown = bathysphere("chat", "--model", "ollama:qwen3", typed="Hello\nStill?\n", **where)
    assert shown.returncode == 0
    assert shown.stdout.count("error: ollama:qwen3 is unreachable") == 2
    assert bathysphere("chat", "--model", "ollama:qwen3", "--message", "Hello", **where).returncode


def test_in_a_terminal_ctrl_c_stops_the_run_and_a_second_one_leaves(terminal):
    talk = terminal("chat", BATHYSPHERE_MODEL_DEMO_PAUSE_S="0.05")
    talk.until("you > ")
    talk.press("Hello\r")
    talk.until("Welcome")
    talk.press("\x03")
    assert "What would you like" not in talk.until("Stopped.")
    talk.until("you > ")
    time.sleep(0.3)  # readline misses a signal between its prompt and its wait; people are slower
    talk.press("\x03")
    assert talk.exit_code() == 130


def test_in_a_terminal_a_change_is_edited_and_ctrl_d_leaves(terminal):
    talk = terminal("chat")
    talk.until("you > ")
    talk.press("Hello\r")
    talk.until("your answer > ")
    talk.press("Sort my photos\r")
    talk.until("respond (s) > ")
    talk.press("e\r")
    talk.until("file_path [/tour/notes.md] > ")
    talk.press("\r")
    talk.until("old_string [Your answer goes here.] > ")
    talk.press("\r")
    talk.until("new_string [Your answer: Sort my photos] > ")
    talk.press("Later.\r")
    talk.until("approved with your changes")
    talk.until("That was the tour.")
    talk.until("you > ")
    talk.press("\x04")
    assert talk.exit_code() == 0


def test_in_a_terminal_an_editor_is_used_if_there_is_one(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/Your answer: .*"/Edited"/\' "$1"\n')
    editor.chmod(0o700)
    talk = terminal("chat", EDITOR=str(editor))
    talk.until("you > ")
    talk.press("Hello\r")
    talk.until("your answer > ")
    talk.press("Sort my photos\r")
    talk.until("respond (s) > ")
    talk.press("e\r")
    talk.until("approved with your changes")
    talk.until("That was the tour.")
