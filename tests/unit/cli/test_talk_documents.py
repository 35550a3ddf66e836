"""A talk about documents and an argument, through pipes: parts of a change, the map, commands."""

import io
import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Interrupt

from bathysphere.agents.tutor import spec
from bathysphere.argument.map import add, empty, node_id_of, relate
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.commands import Commands
from bathysphere.cli.talk.events import Pause
from bathysphere.cli.talk.map_tree import forest
from bathysphere.cli.talk.proposals import Proposals, changed_rows
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.session import Session
from bathysphere.device.device import Device, Proposal, Refused
from bathysphere.device.documents import MemoryDocuments
from bathysphere.device.hunks import Hunk
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says, together

BEFORE = "one\nstays\ntwo\nstays too\nthree\n"
AFTER = "1\nstays\n2\nstays too\n3\n"
CLAIM = node_id_of("claim", "Money is trust.")


def terminal(*lines):
    out = io.StringIO()
    return Screen(out=out, source=io.StringIO("".join(f"{line}\n" for line in lines))), out


def decided(*lines, before=BEFORE, after=AFTER, approve="ask"):
    """The verdict of a person who types `lines`, and what they saw."""
    screen, out = terminal(*lines)
    proposal = Proposal(document="a.md", before=before, after=after, description="Numbers.")
    return Proposals(screen=screen, approve=approve).decide(proposal), out.getvalue()


# ── changes, part by part ──


def test_every_part_is_shown_with_what_is_around_it_and_accepted():
    verdict, shown = decided("a", "accept", "a")
    assert (verdict.text, verdict.refused) == (AFTER, ())
    assert (
        "  The agent wants to change a.md: Numbers.\n    part 1 of 3, line 1\n    - one\n    + 1\n"
        in shown
    )
    assert "    part 2 of 3, line 3\n      one\n      stays\n    - two\n    + 2\n" in shown
    assert shown.endswith("    accepted\n")


def test_parts_that_are_refused_stay_as_they_were_and_carry_the_reason():
    verdict, shown = decided("r", "too short", "a", "r", "")
    assert verdict.text == "one\nstays\n2\nstays too\nthree\n"
    assert verdict.refused == (Refused("1\n", "too short"), Refused("3\n", ""))
    assert "1 of 3 parts accepted; the agent has been told" in shown


def test_a_part_is_written_by_the_person_instead():
    verdict, _ = decided("e", "eins", "zwei", ".", "t")
    assert verdict.text == AFTER.replace("1\n", "eins\nzwei\n")
    assert verdict.refused == (Refused("1\n", "the person edited it"),)


def test_an_edit_back_to_what_was_there_is_a_refusal_and_one_to_the_same_is_none():
    verdict, _ = decided("e", "one", ".", "e", "2", ".", "r", "")
    assert verdict.text == "one\nstays\n2\nstays too\nthree\n"
    assert [r.text for r in verdict.refused] == ["1\n", "3\n"]


def test_a_sentence_that_is_written_anew_keeps_its_place_in_the_paragraph():
    prose = "First things first. " + "Then a sentence that goes on and on. " * 6 + "The end.\n"
    after = prose.replace("First things first.", "To begin with.")
    verdict, shown = decided("e", "At first.", ".", before=prose, after=after)
    assert verdict.text == prose.replace("First things first.", "At first.")
    assert "    - First things first. \n    + To begin with. \n" in shown
    verdict, _ = decided("e", ".", before=prose, after=after)  # nothing in its place
    assert verdict.text == prose.replace("First things first. ", "")


def test_an_edit_in_a_document_with_windows_line_ends_keeps_them():
    verdict, _ = decided("e", "eins", "zwei", ".", before="one\r\nx\r\n", after="1\r\nx\r\n")
    assert verdict.text == "eins\r\nzwei\r\nx\r\n"


def test_the_rest_is_taken_or_dropped_at_once():
    verdict, shown = decided("r", "no", "t")
    assert verdict.text == "one\nstays\n2\nstays too\n3\n"
    assert "part 3 of 3" not in shown
    verdict, _ = decided("a", "d")
    assert verdict.text == "1\nstays\ntwo\nstays too\nthree\n"
    assert len(verdict.refused) == 2
    assert decided("d")[0].text is None


def test_the_last_part_has_no_rest():
    _, shown = decided("a", "a", "t", "a")
    assert shown.count("take the rest (t)") == 2
    assert "please type one of: a, r, e\n" in shown


def test_a_new_document_is_shown_whole():
    verdict, shown = decided("a", before=None, after="# New\n\nText\n")
    assert verdict.text == "# New\n\nText\n"
    assert "The agent wants to create a.md: Numbers.\n    + # New\n    + \n    + Text\n" in shown


def test_an_empty_new_document_is_still_asked_for():
    assert decided("a", before=None, after="")[0].text == ""
    assert decided("r", before=None, after="")[0].text is None


def test_by_rule_all_or_nothing_is_taken_and_it_is_shown_all_the_same():
    verdict, shown = decided(approve="all")
    assert (verdict.text, "part 3 of 3" in shown) == (AFTER, True)
    verdict, shown = decided(approve="none")
    assert (verdict.text, verdict.reason) == (None, "No one was available to approve it.")
    assert "refused: no one is available to accept it" in shown


def test_who_leaves_in_the_middle_has_taken_nothing():
    with pytest.raises(EOFError):
        decided("a")


def test_what_a_document_says_cannot_hide_a_line():
    _, shown = decided("a", before="x\n", after="\x1b[2Kharmless\r\n\u202ereverse\n")
    assert "\x1b" not in shown
    assert "+ ⟨U+001B⟩[2Kharmless" in shown
    assert "⟨U+202E⟩reverse" in shown


def test_words_that_differ_are_marked_where_lines_are_alike():
    hunk = Hunk(start=0, old=("It is a tax.\n",), new=("It is a toll.\n",))
    old, new = changed_rows(hunk)
    assert [text for text, style in old if "reverse" in style and text] == ["tax"]
    assert [text for text, style in new if "reverse" in style and text] == ["toll"]
    unlike = Hunk(start=0, old=("abc\n",), new=("Nothing in common at all.\n", "More.\n"))
    assert [row[1][1] for row in changed_rows(unlike)] == ["red", "green", "green"]


# ── the map and the commands ──


@pytest.fixture
def known():
    known, claim = add(empty(), "claim", "Money is trust.", author="person")
    known, premise = add(known, "premise", "Paper is no use.", author="tutor")
    known, reply = add(known, "evidence", "It says so.", author="tutor", source=SOURCE)
    known, other = add(known, "objection", "Gold is \x1b[2Juse.", author="sceptic")
    known = relate(known, premise, "supports", claim)
    known = relate(known, reply, "supports", premise)
    return relate(known, other, "attacks", claim)


SOURCE = {"file": "notes.md", "version": "1", "start": 3, "end": 9, "quote": "says so"}


def commanded(values, *lines, answers=()):
    screen, out = terminal(*answers)
    commands = Commands(screen=screen, values=lambda: values)
    taken = [commands.handle(line) for line in lines]
    return commands, out.getvalue(), taken


def test_the_map_is_a_tree_with_numbers(known):
    _, shown, _ = commanded({"argument_map": known}, "/map")
    assert shown.splitlines()[:5] == [
        "  argument map",
        "  └── 1 ? claim  Money is trust.  (you)",
        "      ├── 2 ? attacked by objection  Gold is ⟨U+001B⟩[2Juse.  (sceptic)",
        "      └── 3 ? supported by premise  Paper is no use.  (tutor)",
        "          └── 4 ? supported by evidence  It says so.  (tutor, notes.md 3-9)",
    ]
    assert "    open:\n    Nothing answers node 2.\n" in shown
    assert "decide with /accept N or /refuse N" in shown


def test_a_node_in_a_circle_stands_once():
    known, one = add(empty(), "claim", "One.", author="person")
    known, two = add(known, "claim", "Two.", author="person")
    known = relate(relate(known, one, "supports", two), two, "supports", one)
    ((root, below),) = forest(known)
    assert {root["id"], below[0][1]["id"]} == {one, two}
    assert below[0][2] == []


def test_a_decision_is_shown_and_goes_with_the_next_message(known):
    commands, shown, _ = commanded({"argument_map": known}, "/map", "/accept 1, 3", "/refuse 2")
    assert "└── 1 ✓ claim" in shown
    assert shown.rstrip().endswith("decide with /accept N or /refuse N")
    assert "objection" not in shown.rpartition("argument map")[2].partition("open:")[0]
    given = commands.state_update()["argument_map"]["decisions"]
    assert sorted(d["status"] for d in given.values()) == ["accepted", "accepted", "refused"]


def test_numbers_stay_with_their_nodes(known):
    _, shown, _ = commanded({"argument_map": known}, "/map", "/refuse 2", "/map")
    assert "3 ? supported by premise" in shown.rpartition("argument map")[2]


@pytest.mark.parametrize(
    ("line", "says_so"),
    [
        ("/accept 9", "Unknown node: 9. /map shows the numbers."),
        ("/refuse", "No node given. /map shows the numbers."),
        ("/export", "The file name must end in .md, .argdown, .json"),
        ("/export map.pdf", "The file name must end in .md, .argdown, .json"),
        ("/export /nowhere/at/all.md", "No such file or directory"),
        ("/mpa", "Unknown command: /mpa"),
        ("/help", "/disclosures    passages of your documents that were shared"),
        ("/", "Unknown command: /"),
        ("/disclosures", "No passages of your documents have been shared."),
    ],
)
def test_a_command_that_cannot_be_done_says_why(known, line, says_so):
    commands, shown, taken = commanded({"argument_map": known}, line)
    assert says_so in shown
    assert taken == [True]
    assert commands.state_update() == {}


def test_without_a_map_there_is_nothing_to_show():
    _, shown, _ = commanded({}, "/map")
    assert shown == "The map is empty.\n"


def test_a_path_at_the_beginning_of_a_message_is_no_command():
    _, shown, taken = commanded({}, "/etc/passwd is a file", "/2 of it")
    assert (shown, taken) == ("", [False, False])


@pytest.mark.parametrize("ending", ["md", "argdown", "json"])
def test_the_map_is_written_with_the_person_decisions(known, tmp_path, ending):
    path = tmp_path / f"map.{ending}"
    values = {"argument_map": known}
    _, shown, _ = commanded(values, "/map", "/accept 1", f"/export {path}")
    assert f"Wrote {path} (4 nodes)." in shown
    assert "Money is trust." in path.read_text()
    if ending == "json":
        assert len(json.loads(path.read_text())["decisions"]) == 1


def test_a_file_that_is_there_is_overwritten_only_if_the_person_says_so(known, tmp_path):
    path = tmp_path / "essay.md"
    path.write_text("mine")
    commanded({"argument_map": known}, f"/export {path}", answers=["n"])
    assert path.read_text() == "mine"
    commanded({"argument_map": known}, f"/export {path}", answers=["y"])
    assert path.read_text() != "mine"


# ── a talk with the tutor ──


def talk(model, *lines, texts=None, screen=None):
    screen, out = screen or terminal(*lines)
    device = Device(MemoryDocuments(texts or {}), decide=Proposals(screen=screen).decide)
    models = Models(main=model, subagent=model, summary=model, audit=model)
    session = Session(
        graph=build(spec(models=models), checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen, device=device),
    )
    assert session.talk(agent="tutor", model="scripted", is_default=False) == 0
    return out.getvalue(), device


def picks(move, why="It is due."):
    return says(json.dumps({"move": move, "why": why}))


def test_the_move_is_a_chip_and_words_that_are_taken_back_are_said_to_be():
    model = ScriptedChatModel(script=[picks("ask_premise"), says("It is trust."), says("Whose?")])
    shown, _ = talk(model, "Money is trust.")
    assert "  [ask premise] It is due.\n\nIt is trust.\n\n" in shown
    assert "  ↺ rewording: ask one question\n\nWhose?\n" in shown
    assert "choose_move" not in shown


def test_what_leaves_the_device_is_said_at_once_and_listed_later():
    script = [picks("work"), calls("read_user_file", file_id="a.md"), says("Read.")]
    shown, _ = talk(
        ScriptedChatModel(script=script), "Read it", "/disclosures", texts={"a.md": "Müller\n"}
    )
    assert "  ↑ shared with the agent: a.md 0-7, 8 bytes\n" in shown
    assert "    a.md  0-7  8 bytes  sha256 " in shown
    assert "1 passage, 8 bytes; document names are not counted" in shown


def test_what_was_shown_before_a_talk_was_stopped_is_not_shown_again():
    write = calls("write_user_file", title="a.md", content="x", description="A start.")
    model = ScriptedChatModel(
        script=[
            picks("work"),
            calls("list_user_files"),
            write,
            picks("work"),
            says("It was stopped."),
        ]
    )
    out = io.StringIO()

    class Person:
        """Leaves a question open, as Ctrl-C does, and says something else."""

        lines = iter(["Write it\n", None, "And now?\n"])

        def readline(self):
            line = next(self.lines, "")
            if line is None:
                raise KeyboardInterrupt
            return line

    shown, device = talk(model, screen=(Screen(out=out, source=Person()), out), texts={"b": "x"})
    assert shown.count("→ list_user_files") == 1
    assert shown.count("✓ list_user_files") == 1
    assert "Stopped. Work so far is kept" in shown
    assert "✗ write_user_file Tool call write_user_file with id" in shown
    assert shown.rstrip().splitlines()[-3].startswith("It was stopped.")
    assert device.documents.texts == {"b": "x"}


def test_reads_ask_nothing_and_leave_no_gap():
    script = [picks("work"), calls("list_user_files"), says("Listed.")]
    shown, _ = talk(ScriptedChatModel(script=script), "List", texts={"a.md": "x"})
    assert "  → list_user_files\n  ✓ list_user_files a.md: a.md (markdown, 1 characters)\n" in shown


def test_a_decision_of_the_person_reaches_the_agent_with_their_next_message():
    model = ScriptedChatModel(
        script=[
            picks("ask_premise"),
            calls("propose_node", kind="claim", text="Money is trust.", said="Money is trust."),
            says("Whose trust is it?"),
            picks("summarise"),
            says("You stand by it."),
        ]
    )
    shown, _ = talk(model, "Money is trust.", "/map", "/accept 1", "Go on")
    assert "└── 1 ✓ claim  Money is trust.  (you)" in shown
    assert "Money is trust. (accepted; person)" in model.requests[-1][0].text
    model.assert_done()


def test_what_was_written_is_not_written_again_when_another_answer_does_not_fit():
    write = calls("write_user_file", title="a.md", content="x\n", description="A start.")
    model = ScriptedChatModel(
        script=[
            picks("work"),
            calls("propose_node", kind="claim", text="Money is trust.", said="Money is trust."),
            together(write, calls("review_nodes", nodes=[CLAIM])),
            says("Both are done."),
        ]
    )
    out = io.StringIO()
    reviews = iter(["1,2", "1"])

    class Person:
        """Answers by what is asked last: the two come in any order."""

        lines = iter(["Money is trust.\n"])

        def readline(self):
            asked = out.getvalue()
            if "Both are done." in asked or "→ review_nodes" not in asked:
                return next(self.lines, "")
            writes = asked.rfind("The agent wants to create") > asked.rfind("Which of these")
            return "a\n" if writes else f"{next(reviews)}\n"

    shown, device = talk(model, screen=(Screen(out=out, source=Person()), out))
    assert "not accepted: " in shown
    assert shown.count("The agent wants to create a.md") == 1
    assert device.asked.count("write_user_file") == 1
    assert device.documents.texts == {"a.md": "x\n"}
    assert "Both are done." in shown


def test_an_interrupt_that_is_still_open_is_answered_by_what_the_device_did_already():
    screen, _ = terminal()
    device = Device(MemoryDocuments())
    session = Session(
        graph=build(AgentSpec(name="t", model=ScriptedChatModel())),
        screen=screen,
        answers=Answers(screen=screen, device=device),
    )
    args = {"title": "a.md", "content": "x", "description": "A start."}
    call = {"id": "c1", "name": "write_user_file", "args": args}
    waiting = Interrupt(value={"type": "tool", "tool_call": call}, id="i1")
    paused = Pause(interrupts=(waiting,), asked_by={})
    first, second = session._answer(waiting, paused), session._answer(waiting, paused)
    assert first["c1"]["status"] == "applied"
    assert (first, device.asked) == (second, ["write_user_file"])


def test_where_nothing_is_shared_the_agent_is_told():
    model = ScriptedChatModel(script=[picks("work"), calls("list_user_files"), says("None.")])
    screen, out = terminal("List")
    models = Models(main=model, subagent=model, summary=model, audit=model)
    graph = build(spec(models=models), checkpointer=InMemorySaver())
    Session(graph=graph, screen=screen, answers=Answers(screen=screen)).talk(
        agent="tutor", model="scripted", is_default=False
    )
    assert "✗ list_user_files The person's device says: No documents are shared" in out.getvalue()
    assert "continue without them" in model.requests[-1][-1].text
