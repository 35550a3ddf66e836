"""`bathysphere policy`: what is understood of a POLICY.md, and which file is used where."""

import io
import os
import subprocess
import sys

import pytest

from bathysphere.cli import doctor
from bathysphere.cli.main import main
from bathysphere.cli.serve import server_policy_note
from bathysphere.cli.talk import plans
from bathysphere.cli.talk.screen import Screen

QUESTION = "What depth did the bathysphere reach?"
RULES = "```toml policy\nversion = 1\n[limits]\nsteps = 3\n{}\n```\n"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("BATHYSPHERE_", "OLLAMA_", "LM_STUDIO_", "DEEPAGENTS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(capsys, *args, code=0):
    assert main(["policy", *map(str, args)]) == code
    return capsys.readouterr()


# ── what was understood ──


def test_prose_is_shown_as_numbered_sentences_beside_the_rules_that_ship(capsys, folder):
    (folder / "mine.md").write_text("# Mine\n\nNo tabloids. Be \u202efair.\n")
    out = shown(capsys, "mine.md").out
    assert out.startswith("Policy: mine.md\n\nRules that ship, checked by code:\n")
    assert "  limits.steps              12\n" in out
    assert "  domains.allowed           every public site that is not denied\n" in out
    assert "  content.private-person    The plan looks for private facts" in out
    rules, _, asked = out.partition("Sentences for the auditor, decided by judgement")
    assert "  1. Mine: No tabloids.\n  2. Mine: Be ⟨U+202E⟩fair.\n" in asked
    assert "tabloids" not in rules


def test_rules_of_the_file_are_shown_and_its_questions(capsys, folder):
    judge = '[[judge]]\nid = "fair"\nquestion = "Is it one-sided?"'
    (folder / "mine.md").write_text(RULES.format(judge))
    out = shown(capsys, "mine.md").out
    assert "Rules of this file, checked by code:" in out
    assert "  limits.steps              3\n" in out
    assert "decided by judgement:\n  judge.fair  Is it one-sided?\n" in out
    assert out.endswith("No sentences for the auditor.\n")


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        (RULES.format("stepz = 4"), "mine.md: limits.stepz: Extra inputs", "docs/policy.md"),
        (RULES.format("= 4"), "mine.md: Invalid TOML in the rules", "one TOML document"),
        (
            "Be fair.\n\n```toml\nversion = 1\n```\n",
            "mine.md: Line 3: not a block",
            "```toml policy",
        ),
        ("Be fair.\n\n```toml policy\nversion = 1\n", "mine.md: Line 3: the block", "```"),
        ("", "mine.md: The policy is empty", "```toml policy"),
    ],
)
def test_a_broken_block_is_an_error_with_a_hint_and_never_prose(capsys, folder, text, says, hint):
    (folder / "mine.md").write_text(text)
    told = shown(capsys, "mine.md", code=1)
    assert told.out == ""
    assert f"error: {says}" in told.err
    assert hint in told.err.partition("hint: ")[2]


def test_a_file_that_is_not_there_is_one_sentence(capsys):
    assert "error: Cannot read nowhere.md" in shown(capsys, "nowhere.md", code=1).err


# ── which file is used ──


def test_without_a_file_it_shows_the_policy_that_research_uses_here(capsys, folder, monkeypatch):
    assert shown(capsys).out.startswith("Policy: the one that ships\n")
    (folder / "POLICY.md").write_text("Be fair.")
    assert shown(capsys).out.startswith("Policy: POLICY.md\n")
    (folder / "set.md").write_text("Be kind.")
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_POLICY_FILE", "set.md")
    assert shown(capsys).out.startswith("Policy: set.md\n")


def research(monkeypatch, capsys, *args):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    main(["research", QUESTION, *args])
    return capsys.readouterr().out


def test_research_finds_the_policy_of_the_folder_and_says_so(monkeypatch, capsys, folder):
    assert "Policy:" not in research(monkeypatch, capsys)
    (folder / "POLICY.md").write_text("# Ours\n\nNo tabloids.\n")
    out = research(monkeypatch, capsys)
    assert "Policy: POLICY.md (the rules that ship; 1 sentence for the auditor)." in out
    assert "audit: approved, in part by the auditor's judgement" in out
    assert "the auditor does not object: Ours: No tabloids. (no model is configured" in out


def test_a_policy_that_is_named_comes_before_the_one_of_the_folder(monkeypatch, capsys, folder):
    (folder / "POLICY.md").write_text("Be fair.")
    (folder / "set.md").write_text("Be kind. Be brief.")
    (folder / "named.md").write_text(RULES.format(""))
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_POLICY_FILE", "set.md")
    assert "Policy: set.md (the rules that ship; 2 sentences" in research(monkeypatch, capsys)
    out = research(monkeypatch, capsys, "--policy", "named.md")
    assert "Policy: named.md (its rules; 0 sentences" in out
    assert "in part by" not in out


def test_rules_of_the_folder_reject_a_plan(monkeypatch, capsys, folder):
    rules = '```toml policy\nversion = 1\n[content]\ndenied_terms = ["bathysphere"]\n```\n'
    (folder / "POLICY.md").write_text(f"Everything is allowed.\n\n{rules}")
    assert "rejected 3 times" in research(monkeypatch, capsys)


def test_a_server_uses_only_the_policy_that_is_set(folder):
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.policy.rules import default_policy

    assert server_policy_note(None) is None
    (folder / "POLICY.md").write_text("Be fair.")
    settings = ResearchSettings.from_environment()
    assert settings.policy() == default_policy()
    assert "BATHYSPHERE_RESEARCH_POLICY_FILE=POLICY.md" in server_policy_note(settings.policy_file)
    assert server_policy_note(folder / "POLICY.md") == f"Research policy: {folder / 'POLICY.md'}"


def test_the_doctor_says_which_policy_is_used(folder, monkeypatch, capsys):
    assert "the one that ships" in doctor._policy().what
    (folder / "POLICY.md").write_text("Be fair.")
    assert "policy: POLICY.md for `research`" in doctor._policy().what
    (folder / "POLICY.md").write_text("```toml\n```")
    main(["doctor"])
    assert "problem  policy: POLICY.md: Line 1: not a block" in capsys.readouterr().out
    (folder / "set.md").write_text("Be fair.")
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_POLICY_FILE", "set.md")
    assert doctor._policy() == doctor.Finding("ok", "policy: set.md")


# ── the plan that is to be approved ──


def test_an_objection_is_shown_as_a_judgement():
    out = io.StringIO()
    judgement = {"rule": "prose.2", "allowed": True, "question": "Be \x1bfair.", "reason": ""}
    audit = {
        "verdict": "rejected",
        "policy_violations": ["It reads one. (the auditor's judgement on: No tabloids.)"],
        "detail": {"judgements": [{"rule": "prose.1", "allowed": False}, judgement]},
    }
    value = {"plan": {"objective": "o", "steps": []}, "plan_hash": "0" * 64, "audit_result": audit}
    plans.show(Screen(plain=True, out=out), value)
    assert "audit: rejected, in part by the auditor's judgement" in out.getvalue()
    assert "violates: It reads one. (the auditor's judgement on: No tabloids.)" in out.getvalue()
    assert "the auditor does not object: Be ⟨U+001B⟩fair.\n" in out.getvalue()
    assert "object: prose.1" not in out.getvalue()


def test_help_and_a_given_file_need_no_agent_stack(folder):
    (folder / "mine.md").write_text("Be fair.")
    code = "import sys; from bathysphere.cli.main import main\n"
    code += (
        "try: main(['policy', '--help'])\nexcept SystemExit: assert 'pydantic' not in sys.modules\n"
    )
    code += "assert main(['policy', 'mine.md']) == 0\nassert 'langgraph' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
