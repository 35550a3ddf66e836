"""`/memories` in the terminal: what the agent noted, its switch, and the file it is kept in."""

import io
import json
import stat

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere.agents.simple import spec as simple
from bathysphere.cli.chat import LOCAL, chat_graph
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.memories import LocalStore, Memories
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.session import Session
from bathysphere.core.errors import ConfigError
from bathysphere.middleware.memories.notes import Change
from bathysphere.middleware.memories.storage import Notebook
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says

NOTE = calls("write_file", file_path="/memories/drinks.md", content="Drinks\x1b[2J tea.")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "memories.json"


def chat(path, *lines, script=()):
    """A chat with `simple`, as the command runs it; what the model saw and the screen showed."""
    model, out = ScriptedChatModel(script=list(script)), io.StringIO()
    spec = simple(models=Models(main=model, subagent=model, summary=model, audit=model))
    screen = Screen(out=out, source=io.StringIO("".join(f"{line}\n" for line in lines)))
    store = LocalStore(path)
    session = Session(
        graph=chat_graph(spec, checkpointer=InMemorySaver(), store=store),
        screen=screen,
        answers=Answers(screen=screen, approve="none", unattended=False),
        memories=Memories.of_chat(spec, store, LOCAL, screen),
    )
    session.talk(agent="simple", model="scripted", is_default=False)
    model.assert_done()
    return model, out.getvalue()


def test_a_note_of_one_chat_is_in_the_next_until_it_is_deleted(path):
    _, shown = chat(path, "/memories on", "I drink tea.", script=[NOTE, says("Noted.")])
    assert "Memory is on" in shown
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    model, shown = chat(path, "Hi", "/memories", script=[says("Hello.")])
    assert "drinks.md" in model.requests[0][0].text
    assert "drinks.md: Drinks" in shown
    assert "\x1b[2J" not in shown
    model, shown = chat(path, "/memories delete drinks.md", "Hi", script=[says("Hello.")])
    assert "Deleted drinks.md." in shown
    assert "drinks" not in model.requests[0][0].text.lower()
    assert "tea" not in path.read_text()


def test_it_is_off_at_first_and_can_be_turned_off_again(path):
    model, shown = chat(path, "/memories", "I drink tea.", script=[NOTE, says("I cannot.")])
    assert "Memory is off" in shown
    assert "memory is off" in model.requests[1][-1].text
    assert not path.exists()
    chat(path, "/memories on", "Note it.", script=[NOTE, says("Noted.")])
    model, _ = chat(path, "/memories off", "Hi", script=[says("Hello.")])
    assert "drinks.md" not in model.requests[0][0].text


def test_two_chats_at_once_lose_no_note(path):
    one, two = LocalStore(path), LocalStore(path)
    notebook = Notebook(LOCAL, "opt-out")
    one.batch(notebook.write(Change(name="a", text="one"), "agent"))
    two.batch(notebook.write(Change(name="b", text="two"), "agent"))
    one.batch(notebook.write(Change(name="c", text="three"), "agent"))
    found = notebook.memory(two.batch(notebook.read()))
    assert {note.name for note in found.notes} == {"a", "b", "c"}


def test_other_items_are_not_written_to_disk(path):
    LocalStore(path).put(("mine",), "k", {"v": 1})
    assert not path.exists()


@pytest.mark.parametrize("text", ["{", "[1]", json.dumps([["a", "b"]])])
def test_a_file_that_is_not_one_of_notes_is_said(path, text):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"memories\.json"):
        LocalStore(path).batch([])


def test_what_is_unknown_is_said(path):
    _, shown = chat(path, "/memories delete none", "/memories forget", "/help")
    assert "There is no note /memories/none. /memories lists them." in shown
    assert "Use /memories, /memories on" in shown
    assert "/memories delete NAME" in shown
