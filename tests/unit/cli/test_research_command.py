"""`bathysphere research`: a plan to approve or edit, a bar for each step, a report, a proof."""

import io
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import pytest
from reportlab.pdfgen.canvas import Canvas
from rich.console import Console

from bathysphere.agents.research.source_access import GuardedSources
from bathysphere.cli.main import main
from bathysphere.cli.talk.research_session import StepProgress
from bathysphere.cli.talk.screen import Screen
from bathysphere.core.errors import UpstreamError
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.tools.search.corpus import Corpus

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
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


def test_addresses_and_a_corpus_are_read_together(monkeypatch, capsys, tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nThe tower of Elm is 61 metres high.\n")
    text = "The tower of Elm was built in 1890, says the town's chronicle. " * 5

    async def fetch(self, url, may_visit, requester):
        assert may_visit(url) is None
        return take_snapshot(url, text.encode(), text, fetched_at=NOON, title="Chronicle")

    monkeypatch.setattr(GuardedSources, "fetch", fetch)
    words = ("--corpus", str(tmp_path), "--url", "https://example.org/a", "--approve", "all")
    assert research(monkeypatch, "When was the tower of Elm built, how high is it?", *words) == 0
    shown = capsys.readouterr().out
    assert "61 metres" in shown
    assert "built in 1890" in shown


def docx_of(*paragraphs: str) -> bytes:
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in paragraphs)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        xml = f'<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", xml)
    return file.getvalue()


def pdf_of(text: str) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 700, text)
    canvas.save()
    return file.getvalue()


def test_passages_of_a_folder_are_shown_before_they_are_shared_and_become_sources(
    monkeypatch, capsys, tmp_path
):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "survey.md").write_text("Über Elm: the tower of Elm is 61 metres high.\n")
    (papers / "letter.docx").write_bytes(docx_of("Dear Ada,", "The tower of Elm is made of brick."))
    (papers / "plan.pdf").write_bytes(pdf_of("The tower of Elm has 214 steps."))
    (papers / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    (papers / ".hidden.md").write_text("The tower of Elm is a secret.\n")
    out = tmp_path / "report.zip"
    words = ("--context", str(papers), "--approve", "all", "--out", str(out))
    assert research(monkeypatch, "What is known of the tower of Elm?", *words) == 0
    shown = capsys.readouterr().out
    before, after = shown.split("Plan, revision 0", 1)
    assert "Skipped broken.pdf: Cannot open the PDF" in before
    assert "Shared with the model: 3 passages of your documents" in before
    for line in ("survey.md, bytes 0-47: Über Elm", "letter.docx, bytes", "plan.pdf, bytes 0-"):
        assert line in before
    assert "secret" not in shown
    for fact in ("61 metres", "made of brick", "214 steps"):
        assert fact in after
    assert verify_proof(out.read_bytes()).ok


def test_a_context_folder_without_documents_is_an_error(monkeypatch, capsys, tmp_path):
    for folder, message in ((tmp_path / "none", "Folder not found"), (tmp_path, "No readable")):
        assert research(monkeypatch, QUESTION, "--context", str(folder)) == 1
        assert message in capsys.readouterr().err


# ── follow-ups ──

NEW = "Start new research: who designed the bathysphere?"


def test_follow_ups_are_answered_extended_or_researched_and_any_report_is_written(
    monkeypatch, capsys, tmp_path
):
    out = tmp_path / "first.zip"
    then = ["--then", "Who described what he saw to Gloria Hollister?", "--then", NEW]
    code = research(
        monkeypatch, QUESTION, *then, "--approve", "all", "--out", str(out), "--report", "1"
    )
    assert code == 0
    shown = capsys.readouterr().out
    assert "Answered from the sources already read" in shown
    assert "Beebe described what he saw to Gloria Hollister on deck." in shown
    assert "New research: the plan needs your approval; earlier reports are kept" in shown
    assert verify_proof(out.read_bytes()).ok
    report = zipfile.ZipFile(out).read("report.md").decode()
    assert QUESTION in report
    assert NEW not in report


def test_a_report_that_is_not_there_is_one_sentence(monkeypatch, capsys, tmp_path):
    out = str(tmp_path / "r.md")
    args = ("--approve", "all", "--out", out, "--report", "2")
    assert research(monkeypatch, QUESTION, *args) != 0
    assert "Unknown report: 2" in capsys.readouterr().err


def test_at_a_terminal_the_person_is_asked_for_follow_ups(monkeypatch, capsys, tmp_path):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    saved = tmp_path / "second.md"
    lines = ["a", NEW, "a", "/reports", f"/save {saved} 2", "/save x.gif", "/what", ""]
    typed = iter(lines)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    assert main(["research", QUESTION, "--plain"]) == 0
    shown = capsys.readouterr().out
    assert f"1. {QUESTION} (" in shown
    assert f"2. {NEW} (" in shown
    assert "Unsupported report format: x.gif" in shown
    assert "Commands: /reports" in shown
    assert NEW in saved.read_text()
