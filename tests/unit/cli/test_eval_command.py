"""`bathysphere eval`: what it refuses, before anything is measured."""

import argparse
from importlib import util

import pytest

from bathysphere.cli import eval as command
from bathysphere.core.errors import CallerError, ConfigError, ModelUnavailable


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(arguments))


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as raised:
        run()
    assert str(raised.value) == (
        'Evaluation needs an optional dependency (pip install "bathysphere[eval]")'
    )


def test_the_tour_is_not_measured(monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_MODEL_MAIN", raising=False)
    with pytest.raises(CallerError, match="demo:tour is a script"):
        run()


def test_a_model_that_cannot_be_used_is_refused_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="GGUF file not found"):
        run("--model", "llamacpp:none", "--log-dir", str(tmp_path / "logs"))
    assert not (tmp_path / "logs").exists()


def test_a_report_needs_logs(tmp_path):
    with pytest.raises(CallerError, match="No logs of evaluations"):
        run("report", "--log-dir", str(tmp_path))


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_numbers_are_positive(number, capsys):
    with pytest.raises(SystemExit):
        run("--limit", number)
    assert "--limit" in capsys.readouterr().err
