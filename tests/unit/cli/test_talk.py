"""A talk with an agent, through pipes: what is shown, what is asked, what is sent back."""

import asyncio
import io
import json
import os
import re
import signal
import threading
from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.types import interrupt

from bathysphere.cli.main import main
from bathysphere.cli.talk.answers import Answers, allowed, call_lines
from bathysphere.cli.talk.events import Custom
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.cli.talk.session import Session
from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.usage import Limits
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, calls, fails, hangs, says, together


def talk(model, *lines, tools=(), approve="ask", once=None, has_map=True, **extra):
    """Have a talk in which the person types `lines`; what the terminal shows."""
    out = io.StringIO()
    screen = Screen(out=out, source=io.StringIO("".join(f"{line}\n" for line in lines)))
    spec = AgentSpec(name="t", model=model, tools=tools, **extra)
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen, approve=approve, unattended=once is not None),
        has_map=has_map,
    )
    if once is None:
        assert session.talk(agent="t", model="scripted", is_default=False) == 0
    else:
        session.once(once)
    return out.getvalue()


@tool
def ask_user(question: str) -> str:
    """Ask."""
    answer = interrupt({"type": "clarification_request", "question": question})
    return answer["response"]


@tool
def ask_choices(question: str, several: bool = False, freeform: bool = False) -> str:
    """Ask with options."""
    options = [{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}]
    value: dict[str, Any] = {"type": "clarification_request", "question": question}
    value |= {"options": options, "allow_multiple": several, "allow_freeform": freeform}
    return json.dumps(interrupt(value))


@tool
def pay(sats: int) -> str:
    """Pay."""
    return json.dumps(interrupt({"type": "payment_exhausted", "price": sats}))


@tool
def dig() -> str:
    """Report on the way."""
    get_stream_writer()({"metres": 3})
    return "dug"


def results(model, call=-1):
    return [message.text for message in model.requests[call] if message.type == "tool"]


# ── what is shown ──


def test_words_calls_results_and_use_are_shown():
    model = ScriptedChatModel(
        script=[
            together(
                calls("write_file", file_path="/a.md", content="x"),
                calls("read_file", file_path="/b.md"),
                text="I look.",
            ),
            says("Done."),
        ]
    )
    shown = talk(model, "Hello")
    lines = shown.splitlines()
    assert lines[:8] == [
        "t on scripted. Ctrl-C interrupts, Ctrl-D exits.",
        "",
        "you > Hello",
        "",
        "I look.",
        "",
        "  → write_file /a.md",
        "  → read_file /b.md",
    ]
    assert sorted(lines[8:10]) == [  # they ran at the same time
        "  ✓ write_file Updated file /a.md",
        "  ✗ read_file Error: File '/b.md' not found",
    ]
    assert lines[10:13] == ["", "Done.", ""]
    assert "2 model calls · 2 tool calls · " in shown
    model.assert_done()


def test_the_todo_list_is_shown_as_it_changes():
    def todos(status):
        return calls("write_todos", todos=[{"content": "Dive", "status": status}])

    model = ScriptedChatModel(script=[todos("in_progress"), todos("completed"), says("Up.")])
    shown = talk(model, "Go")
    assert "  plan\n    ▸ Dive\n  plan\n    ✓ Dive\n" in shown
    assert "write_todos" not in shown


def test_subagents_are_told_apart_and_indented():
    def rule(messages):
        last = messages[-1]
        if last.type == "tool" and last.name == "task":
            return says("Both are back.")
        if last.text == "Go":
            kind = {"subagent_type": "general-purpose"}
            return together(
                calls("task", description="left", **kind),
                calls("task", description="right", **kind),
            )
        if last.type == "human":
            return calls("ls", path=f"/{last.text}")
        return says(f"Nothing {messages[-3].text}.")

    shown = talk(ScriptedChatModel(answer=rule), "Go").splitlines()
    assert "  → task general-purpose: left" in shown
    assert "  → task general-purpose #2: right" in shown
    assert "    general-purpose → ls /left" in shown
    assert "    general-purpose #2 → ls /right" in shown
    assert "    general-purpose #2 Nothing right." in shown
    assert "  ✓ general-purpose #2 Nothing right." in shown
    assert "Both are back." in shown


def test_what_a_tool_reports_is_shown():
    model = ScriptedChatModel(script=[calls("dig"), says("Done.")])
    assert '  {"metres": 3}\n' in talk(model, "Go", tools=(dig,))


def test_a_run_that_was_stopped_says_its_limit():
    model = ScriptedChatModel(script=[calls("ls", path="/")])
    shown = talk(model, "Go", limits=Limits(model_calls=1))
    assert "stopped: limit of 1 model calls" in shown


def test_control_characters_are_shown_not_obeyed():
    assert safe("a\x1b[2Jb\u202ec\td\r\ne") == "a⟨U+001B⟩[2Jb⟨U+202E⟩c\td\ne"
    model = ScriptedChatModel(
        script=[
            calls("write_file", file_path="/\x1b[2J.md", content="x\x1b]0;hi\x07"),
            says("\x1b[31mDone\x9b."),
        ]
    )
    shown = talk(model, "Go", "a", approvals={"write_file": True})
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "⟨U+001B⟩[31mDone" in shown


def test_a_pipe_gets_no_colours_and_its_lines_are_not_cut():
    path = "/" + "long/" * 9 + "name.md"
    model = ScriptedChatModel(script=[calls("ls", path=path), says("word " * 60)])
    shown = talk(model, "Go")
    assert "\x1b" not in shown
    assert f"→ ls {path}" in shown
    assert "word " * 60 in shown


# ── approvals ──

EDIT = {"file_path": "/a.md", "old_string": "one\ntwo", "new_string": "one\nthree"}


def approval(*lines, gate=True, **extra):
    model = ScriptedChatModel(
        script=[
            calls("write_file", file_path="/a.md", content="one\ntwo\n"),
            calls("edit_file", EDIT, id="e"),
            says("Done."),
        ]
    )
    shown = talk(model, "Go", *lines, approvals={"edit_file": gate}, **extra)
    model.assert_done()
    return shown, results(model)[-1]


def test_an_edit_is_shown_as_a_diff_and_approved():
    shown, result = approval("a")
    assert (
        "  edit_file needs your approval\n    /a.md\n      one\n    - two\n    + three\n"
        "  approve (a), edit (e), reject (r), respond (s) > a\n    approved\n"
    ) in shown
    assert result.startswith("Successfully replaced")


def test_a_rejection_carries_its_reason():
    shown, result = approval("reject", "not now")
    assert "with reason: not now" in result
    assert "  ✗ edit_file User rejected" in shown


def test_a_rejection_may_have_no_reason():
    _, result = approval("r", "")
    assert "Do not retry" in result


def test_an_answer_in_the_tools_place():
    _, result = approval("s", "It is done already.")
    assert result == "It is done already."


def test_an_edit_keeps_what_is_left_empty_and_reads_json():
    shown, result = approval("e", "", '"one\\ntwo', '"one\\ntwo"', "four")
    assert "invalid JSON" in shown
    assert "Successfully replaced" in result
    assert "human reviewer replaced this tool call" in result


def test_an_answer_that_is_not_a_choice_is_asked_again():
    shown, _ = approval("perhaps", "", "a")
    assert shown.count("please type one of: a, e, r, s") == 2


def test_only_the_allowed_answers_are_offered():
    shown, _ = approval("e", "a", gate={"allowed_decisions": ["approve", "reject"]})
    assert "  approve (a), reject (r) > e\n    please type one of: a, r\n" in shown
    assert allowed({"properties": {"type": {"const": "respond"}}}) == ("respond",)
    assert allowed(None) == ("approve", "edit", "reject", "respond")


def test_an_answer_that_the_run_refuses_can_be_given_again():
    model = ScriptedChatModel(script=[calls("ls", path="/"), says("Done.")])
    shown = talk(model, "Go", "e", '""', "a", approvals={"ls": True})
    assert "Done." in shown
    model = ScriptedChatModel(script=[calls("count", n=1), says("Done.")])
    shown = talk(model, "Go", "e", '"many"', "a", tools=(count,), approvals={"count": True})
    assert "not accepted: edit.edited_action.args.n: Input should be a valid integer" in shown
    assert results(model) == ["1"]


@tool
def count(n: int) -> int:
    """Count."""
    return n


def test_other_calls_are_shown_whole():
    lines = call_lines("write_file", {"file_path": "/a", "content": "x\ny", "n": 1})
    assert [line for line, _ in lines] == ["file_path: /a", "content:", "  x", "  y", "n: 1"]


def test_several_questions_are_answered_together_in_one_resume():
    model = ScriptedChatModel(
        script=[
            together(
                calls("ask_user", {"question": "Which year?"}, id="q"),
                calls("delete", {"file_path": "/a.md"}, id="d"),
                calls("pay", {"sats": 5}, id="p"),
            ),
            says("Thanks."),
        ]
    )
    typed = {
        "you": "Go",
        "Which year?": "2024",
        "file_path: /a.md": "r",
        "approve (a), edit (e), reject (r), respond (s) > r": "no",
        "}": '{"token": 1}',
    }
    out = io.StringIO()

    class Person(io.StringIO):
        """Answers what was shown last, since interrupts come in any order."""

        def readline(self):
            last = out.getvalue().strip().rpartition("\n")[2].strip()
            return typed.pop(last if last in typed else "you", "/exit") + "\n"

    started = []

    class Watching(AgentMiddleware):
        async def awrap_tool_call(self, request, handler):
            started.append(request.tool_call["id"])
            return await handler(request)

    screen = Screen(out=out, source=Person())
    spec = AgentSpec(
        name="t",
        model=model,
        tools=(ask_user, pay),
        approvals={"delete": True},
        middleware=(Watching(),),
    )
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen),
    )
    assert session.talk(agent="t", model="scripted", is_default=False) == 0
    assert typed == {}
    assert sorted(results(model)) == [
        "2024",
        "User rejected the tool call for `delete` with reason: no",
        '{"token": 1}',
    ]
    # A pending call starts over with every resume: twice each means one resume for all.
    assert sorted(started) == ["d", "d", "p", "p", "q", "q"]
    model.assert_done()


# ── other questions ──


def test_a_question_is_answered_in_words():
    model = ScriptedChatModel(script=[calls("ask_user", question="Which year?"), says("Thanks.")])
    shown = talk(model, "Go", "", "2024", tools=(ask_user,))
    assert "  Which year?\n  your answer > \n  your answer > 2024\n" in shown
    assert results(model) == ["2024"]


@pytest.mark.parametrize(
    ("how", "typed", "answer"),
    [
        ({}, ["3", "1,2", "2"], {"selected": ["n"]}),
        ({}, ["yes"], {"selected": ["y"]}),
        ({"several": True}, ["2, 1"], {"selected": ["n", "y"]}),
        ({"freeform": True}, ["maybe"], {"selected": [], "freeform": "maybe"}),
    ],
)
def test_a_question_with_options_is_answered_by_number_or_name(how, typed, answer):
    model = ScriptedChatModel(script=[calls("ask_choices", question="Dive?", **how), says("Ok.")])
    shown = talk(model, "Go", *typed, tools=(ask_choices,))
    assert "  Dive?\n    1  Yes\n    2  No\n" in shown
    assert json.loads(results(model)[0]) == answer
    assert shown.count("choose from 1 to 2") == len(typed) - 1


def test_an_unknown_question_is_shown_and_answered_in_json():
    model = ScriptedChatModel(script=[calls("pay", sats=5), says("Paid.")])
    shown = talk(model, "Go", "cashuA", '{"token": "cashuA"}', tools=(pay,))
    assert '    {\n      "type": "payment_exhausted",\n      "price": 5\n    }\n' in shown
    assert "invalid JSON" in shown
    assert json.loads(results(model)[0]) == {"token": "cashuA"}


# ── nobody there ──


@pytest.mark.parametrize(("rule", "result"), [("all", "Successfully"), ("none", "User rejected")])
def test_without_a_person_approvals_go_by_the_rule(rule, result):
    shown, came_back = approval(approve=rule, once="Go")
    assert came_back.startswith(result)
    assert "you >" not in shown


def test_without_a_person_an_open_question_is_answered_by_saying_so():
    model = ScriptedChatModel(script=[calls("ask_user", question="Which year?"), says("2024.")])
    talk(model, tools=(ask_user,), once="Go")
    assert "No one is available to answer" in results(model)[0]


def test_without_a_person_a_choice_is_an_error():
    ask = calls("ask_choices", question="Which?", options=[{"id": "a", "label": "A"}])
    with pytest.raises(CallerError, match=r"no one is available: Which\?"):
        talk(ScriptedChatModel(script=[ask]), tools=(ask_choices,), once="Go")


def test_without_a_person_an_error_is_the_callers():
    with pytest.raises(UpstreamError, match="down"):
        talk(ScriptedChatModel(script=[fails(UpstreamError("down"))]), once="Go")


# ── trouble ──


def test_an_error_does_not_end_the_talk():
    error = UpstreamError("the model is down", hint="wait")
    model = ScriptedChatModel(script=[fails(error), fails(ValueError("odd")), says("Back.")])
    shown = talk(model, "One", "Two", "Three")
    assert "error: the model is down\nhint: wait\n" in shown
    assert "error: ValueError: odd\n" in shown
    assert "Back." in shown
    assert [m.text for m in model.requests[2] if m.type == "human"] == ["One", "Two", "Three"]


@pytest.fixture
def terminal_signals():
    """Handle Ctrl-C as a new process does, whatever earlier tests installed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("terminal_signals")
def test_ctrl_c_stops_the_run_and_the_talk_goes_on():
    model = ScriptedChatModel(
        script=[calls("ls", path="/"), hangs(), lambda messages: says("Here again.")]
    )

    def press():
        while len(model.requests) < 2:
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    shown = talk(model, "Go", "Are you there?")
    assert "Stopped. Work so far is kept" in shown
    assert "Here again." in shown
    assert "Error" not in shown
    model.assert_done()


def test_a_talk_that_ends_at_a_question_stops():
    model = ScriptedChatModel(script=[calls("delete", file_path="/a.md")])
    assert "No input available; stopped." in talk(model, "Go", approvals={"delete": True})


def test_after_an_unanswered_question_the_talk_goes_on():
    model = ScriptedChatModel(script=[calls("delete", file_path="/a.md"), says("Never mind.")])
    out = io.StringIO()

    class Person(io.StringIO):
        def readline(self):
            line = super().readline()
            if line == "^C\n":
                raise KeyboardInterrupt
            return line

    screen = Screen(out=out, source=Person("Go\n^C\nForget it\n/exit\n"))
    spec = AgentSpec(name="t", model=model, approvals={"delete": True})
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen),
    )
    assert session.talk(agent="t", model="scripted", is_default=True) == 0
    assert "Stopped." in out.getvalue()
    assert "Never mind." in out.getvalue()
    assert "a scripted tour answers" in out.getvalue()
    model.assert_done()


def test_ctrl_c_at_the_prompt_leaves():
    class Person(io.StringIO):
        def readline(self):
            raise KeyboardInterrupt

    screen = Screen(out=io.StringIO(), source=Person())
    session = Session(
        graph=build(AgentSpec(name="t", model=ScriptedChatModel()), checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen),
    )
    assert session.talk(agent="t", model="scripted", is_default=False) == 130


@pytest.mark.usefixtures("terminal_signals")
def test_a_second_ctrl_c_leaves_a_run_that_will_not_stop():
    stubborn = threading.Event()

    @tool
    async def cling() -> str:
        """Hold on."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            stubborn.set()
            await asyncio.sleep(30)
        return "let go"

    model = ScriptedChatModel(script=[calls("cling")])
    screen = Screen(out=io.StringIO(), source=io.StringIO("Go\nStill there?\n"))
    session = Session(
        graph=build(AgentSpec(name="t", model=model, tools=(cling,)), checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen),
    )

    def press_twice():
        while not model.requests:
            threading.Event().wait(0.01)
        threading.Event().wait(0.3)
        os.kill(os.getpid(), signal.SIGINT)
        assert stubborn.wait(5)
        threading.Event().wait(0.3)  # a finger: while the loop still turns, nobody is woken by it
        os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=press_twice)
    presses.start()
    assert session.talk(agent="t", model="scripted", is_default=False) == 130
    presses.join()
    assert len(model.requests) == 1


def test_a_note_breaks_between_words_in_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    Screen(out=out, plain=True).note("    It may read a text file, and asks a question first.")
    lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("    ") and len(line) <= 40 for line in lines)
    assert " ".join(" ".join(lines).split()).endswith("asks a question first.")


def test_the_map_is_offered_only_where_there_is_one():
    shown = talk(ScriptedChatModel(), "/help", "/map", "/exit", has_map=False)
    assert "This agent has no argument map" in shown
    assert "/accept N" not in shown
    assert "/disclosures" in shown
    assert "/accept N" in talk(ScriptedChatModel(), "/help", "/exit", has_map=True)


@pytest.mark.parametrize(("words", "is_default"), [((), True), (("--model", "demo:tour"), False)])
def test_only_a_tour_that_nobody_chose_is_announced_however_that_is_worded(
    monkeypatch, words, is_default
):
    choice = ModelSettings.choice
    monkeypatch.setattr(
        ModelSettings, "choice", lambda *at: choice(*at)._replace(chosen_by="other words")
    )
    for name in ("BATHYSPHERE_MODEL_MAIN", "OLLAMA_MODEL_NAME", "LM_STUDIO_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    begun = []
    monkeypatch.setattr(Session, "talk", lambda _, **told: begun.append(told) or 0)
    assert main(["chat", *words]) == 0
    assert [told["is_default"] for told in begun] == [is_default]


@pytest.mark.parametrize(("agent", "has_map"), [("simple", False), ("tutor", True)])
def test_the_map_is_offered_to_the_agent_that_keeps_one(monkeypatch, agent, has_map):
    begun = []
    monkeypatch.setattr(Session, "talk", lambda session, **_: begun.append(session.has_map) or 0)
    assert main(["chat", agent, "--model", "demo:tour"]) == 0
    assert begun == [has_map]


# ── weak models ──


def test_a_call_in_text_is_shown_as_a_call():
    text = 'Sure.\n```json\n{"name": "ls", "arguments": {"path": "/"}}\n```'
    shown = talk(ScriptedChatModel(script=[says(text), says("All done.")]), "look")
    assert "arguments" not in shown
    assert "ls" in shown
    assert "All done." in shown
    assert "1 correction" in shown


def test_json_that_is_an_answer_is_shown_once():
    answer = '```json\n{"age": 7}\n```'
    shown = talk(ScriptedChatModel(script=[says(answer)]), "look")
    assert shown.count('{"age": 7}') == 1


def test_the_sentence_that_ends_a_circle_is_shown():
    model = ScriptedChatModel(answer=lambda _: calls("ls", path="/"))
    shown = talk(model, "look")
    assert shown.count("Stopped: the model made the same calls again") == 1


def test_an_answer_that_replaced_another_is_shown():
    chinese = "好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻，谢谢。"
    shown = talk(ScriptedChatModel(script=[says(chinese), says("Fine.")]), "look at this")
    assert shown.count("Fine.") == 1


def test_a_slow_model_is_seen_to_read_its_prompt():
    out = io.StringIO()
    screen = Screen(out=out, source=io.StringIO())

    def told(read, left):
        payload = {"read": read, "total": 2281, "cached": 0, "seconds_left": left}
        screen.show(Custom(data={"name": "prompt_progress", "payload": payload}))

    told(0, None)
    told(1536, 12.4)
    told(2281, 0)
    assert out.getvalue().splitlines() == [
        "  reading the prompt: 0 of 2,281 tokens",
        "  reading the prompt: 1,536 of 2,281 tokens, about 12 s left",
    ]
