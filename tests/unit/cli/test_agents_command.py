"""`bathysphere agents`."""

import pytest

from bathysphere.cli.main import main


@pytest.fixture(autouse=True)
def no_model(monkeypatch):
    for name in ("BATHYSPHERE_MODEL_MAIN", "DEEPAGENTS_MODEL_PROVIDER", "OLLAMA_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)


def test_it_lists_the_agents(capsys):
    assert main(["agents"]) == 0
    assert capsys.readouterr().out.startswith("research   a question, an audited plan")


def test_it_shows_every_layer_of_one(capsys):
    assert main(["agents", "simple"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("agent simple\n")
    for layer in ("FilesMiddleware", "ModelRetryMiddleware", "ApprovalsMiddleware"):
        assert shown.count(f"  {layer} ") == 2  # the main agent and its helper


def test_an_unknown_agent_is_a_sentence(capsys):
    assert main(["agents", "nobody"]) == 1
    assert capsys.readouterr().err == (
        "error: Unknown agent: nobody\nhint: choose research, simple, tutor, workspace\n"
    )
