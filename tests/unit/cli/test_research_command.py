"""`bathysphere research`: a plan to approve or edit, a bar for each step, a report, a proof."""

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from bathysphere.cli.main import main
from bathysphere.cli.talk.research_session import StepProgress
from bathysphere.cli.talk.screen import Screen
from bathysphere.core.errors import UpstreamError
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.tools.search.corpus import Corpus

QUESTION = "What depth did the bathysphere reach?"


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("BATHYSPHERE_", "OLLAMA_", "LM_STUDIO_", "DEEPAGENTS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def research(monkeypatch, *args, typed=""):
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    return main(["research", *args])


def test_a_first_look_needs_no_model_no_key_and_no_network(monkeypatch, capsys):
    assert research(monkeypatch, QUESTION, typed="a\n") == 0
    shown = capsys.readouterr().out
    assert "No model is configured, so rules answer" in shown
    assert "A plan needs your approval" in shown
    assert "audit: approved" in shown
    assert "✓ search: depth bathysphere reach" in shown
    assert "The bathysphere reached a depth of 923 metres on that day." in shown
    assert "## Sources" in shown


def test_a_corpus_of_ones_own_and_a_proof(monkeypatch, capsys, tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text("# A\n\nThe tower of Elm is 61 metres high, says the survey.\n")
    out = tmp_path / "report.zip"
    code = research(
        monkeypatch,
        "How high is the tower of Elm?",
        "--corpus",
        str(papers),
        "--approve",
        "all",
        "--out",
        str(out),
    )
    assert code == 0
    assert "The tower of Elm is 61 metres high, says the survey." in capsys.readouterr().out
    assert verify_proof(out.read_bytes()).ok
    assert main(["verify", str(out)]) == 0


@pytest.mark.parametrize("kind", ["md", "html", "docx", "pdf"])
def test_a_report_can_be_written_in_other_formats(monkeypatch, tmp_path, kind, capsys):
    out = tmp_path / f"report.{kind}"
    assert research(monkeypatch, QUESTION, "--approve", "all", "--out", str(out)) == 0
    assert out.stat().st_size > 500


def test_a_plan_can_be_edited_step_by_step(monkeypatch, capsys):
    typed = "e\nrecord dive\n-\nfly: kites\nsearch: who designed it\n\n"
    assert research(monkeypatch, QUESTION, typed=typed) == 0
    shown = capsys.readouterr().out
    assert "expected `search: words` or `open: URL`" in shown
    assert "audited again" in shown
    assert "✓ search: record dive" in shown
    assert "✓ search: who designed it" in shown
    assert "✓ search: depth bathysphere reach" not in shown


def test_a_rejected_plan_is_made_again(monkeypatch, capsys):
    assert research(monkeypatch, QUESTION, typed="r\nToo broad.\na\n") == 0
    shown = capsys.readouterr().out
    assert "The person rejected the plan: Too broad." in shown
    assert "(revision 1)" in shown


def test_a_policy_of_ones_own_holds(monkeypatch, capsys, tmp_path):
    policy = tmp_path / "POLICY.md"
    rules = 'version = 1\n[content]\ndenied_terms = ["bathysphere"]'
    policy.write_text(f"# Mine\n\n```toml policy\n{rules}\n```\n")
    assert research(monkeypatch, QUESTION, "--policy", str(policy)) == 2
    assert "rejected 3 times" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--out", "report.txt"), "Unsupported report format"),
        (("--out", "/nowhere/at/all/report.zip"), "Folder not found"),
        (("--corpus", "/nowhere/at/all"), "Folder not found"),
        (("--policy", "/nowhere/POLICY.md"), "Cannot read"),
    ],
)
def test_what_cannot_work_is_one_sentence_before_any_work(monkeypatch, capsys, args, words):
    assert research(monkeypatch, QUESTION, *args) == 1
    told = capsys.readouterr()
    assert words in told.err
    assert "thinker" not in told.out


def test_nobody_there_approves_nothing(monkeypatch, capsys):
    assert research(monkeypatch, QUESTION, typed="") == 2
    shown = capsys.readouterr().out
    assert "No input available" in shown
    assert "## Sources" not in shown


def test_on_a_terminal_each_step_has_a_bar():
    out = io.StringIO()
    screen = Screen(out=out)
    screen.console = Console(file=out, force_terminal=True, width=100, color_system="truecolor")
    told = {"type": "research_step", "step": "1", "tool": "web_search", "input": "deep \x1b[2J sea"}
    with StepProgress(screen) as bars:
        bars.show({**told, "state": "started", "done": 0, "total": 1, "note": ""})
        bars.show({**told, "state": "done", "done": 1, "total": 1, "note": "4 results"})
        bars.show("something else")
    shown = out.getvalue()
    assert "search: deep ⟨U+001B⟩[2J sea" in shown
    assert "━" in shown
    assert "4 results" in shown


def test_the_command_imports_the_stack_only_when_it_runs():
    code = "import sys; from bathysphere.cli.main import main\ntry: main(['research', '--help'])\n"
    code += "except SystemExit: assert 'langgraph' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_the_sample_report_has_dates_and_no_model_and_no_disagreement_of_units(monkeypatch, capsys):
    assert research(monkeypatch, QUESTION, "--approve", "all") == 0
    shown = capsys.readouterr().out
    assert "found by" not in shown
    assert "no date" not in shown
    assert "dated 1934-08-16" in shown
    disagree = shown.partition("Where sources disagree")[2].partition("## Sources")[0]
    assert "923 metres" in disagree  # against the harbour's 1,200 metres
    for table in disagree.split("\n\n"):
        assert not ("923 metres" in table and "3,028 feet" in table)


@pytest.mark.parametrize("question", ["zzz qqq xxx", "q"])
def test_a_question_that_no_source_answers_is_not_called_done(monkeypatch, capsys, question):
    assert research(monkeypatch, question, "--approve", "all") == 3
    shown = capsys.readouterr().out
    assert "Research failed: No source answers this question." in shown
    assert "0 claims" not in shown


def test_research_whose_every_search_fails_is_a_failure_and_not_an_empty_result(
    monkeypatch, capsys
):
    async def search(self, query, *, limit=8):
        raise UpstreamError("The search engine cannot be reached")

    monkeypatch.setattr(Corpus, "search", search)
    assert research(monkeypatch, QUESTION, "--approve", "all") == 2
    shown = capsys.readouterr().out
    assert "Research failed: No source answers this question." in shown
    assert "The search engine cannot be reached" in shown


def test_an_address_that_cannot_be_opened_is_an_error(monkeypatch, capsys, tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nThe tower of Elm is 61 metres high.\n")
    words = ("--corpus", str(tmp_path), "--url", "https://example.org/a")
    assert research(monkeypatch, QUESTION, *words) == 1
    shown = capsys.readouterr().err
    assert "error: Cannot open https://example.org/a" in shown
    assert "hint: omit --url" in shown
