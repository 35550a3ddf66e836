"""`bathysphere doctor --report`: what an issue needs, and nothing that is private."""

from pathlib import Path

import pytest

from bathysphere.cli.main import main
from bathysphere.cli.support_report import PACKAGES, redact, support_report

HOME = Path("/home/ada")
PRIVATE = {
    "BATHYSPHERE_DATABASE_URL": "postgresql://ada:hunter2@db.corp.example:5432/x",
    "ANTHROPIC_API_KEY": "sk-ant-123456",
    "TAVILY_API_KEY": "tvly-abcdef",
    "BATHYSPHERE_POLICY_FILE": "/home/ada/secret-plan/POLICY.md",
    "MY_DB_PASSWORD": "hunter2",
    "PATH": "/usr/bin",
}


def reported(*lines: str, environment=PRIVATE) -> str:
    return "\n".join(support_report([("Services", lines)], environment=environment, home=HOME))


def test_it_has_versions_settings_by_name_and_findings():
    shown = reported("ok       PostgreSQL: reachable", "problem  main: no key")
    assert "python: CPython 3." in shown
    for name in PACKAGES:
        assert f"{name} " in shown
    assert "settings in use: ANTHROPIC_API_KEY, BATHYSPHERE_DATABASE_URL, " in shown
    assert "PATH" not in shown
    assert "  ok       PostgreSQL: reachable\n  problem  main: no key" in shown


@pytest.mark.parametrize("value", [value for name, value in PRIVATE.items() if name != "PATH"])
def test_no_value_of_a_setting_is_in_it(value):
    shown = reported(f"problem  cannot use {value}!", f"fix: change {value}")
    assert value not in shown
    for word in ("hunter2", "corp.example", "secret-plan", "ada"):
        assert word not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at http://10.0.0.7:11434/v1, try again", "at http://…, try again"),
        ("mint (https://mint.corp.example)", "mint (https://…)"),
        ("in /home/ada/.local/share", "in ~/.local/share"),
        ("folder of ada is full", "folder of <user> is full"),
        ("off and 1 stay", "off and 1 stay"),
    ],
)
def test_addresses_folders_and_names_are_replaced(text, shown):
    environment = {"BATHYSPHERE_MEMORIES": "off", "BATHYSPHERE_N": "1"}
    assert redact(text, environment=environment, home=HOME) == shown


def test_the_command_prints_it_and_does_not_fail_for_a_broken_setting(monkeypatch, capsys):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "anthropic:claude-sonnet-4-6")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["doctor", "--report"]) == 0
    shown = capsys.readouterr().out
    assert "problem  main: anthropic:claude-sonnet-4-6" in shown


def test_a_user_without_a_home_hides_nothing_else():
    text = "in /srv/data"
    assert redact(text, environment={}, home=Path("/")) == text
