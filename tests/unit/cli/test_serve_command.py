"""What `bathysphere serve` says before it is ready."""

import pytest

from bathysphere.cli.serve import warn_about_models
from bathysphere.models.settings import ModelSettings


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_model_without_its_key_is_warned_about_at_the_start_once(capsys):
    warn_about_models(ModelSettings(main="openai:gpt-5"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "warning: Model unavailable: openai:gpt-5 needs an API key (OPENAI_API_KEY)",
        "hint: set OPENAI_API_KEY, or choose another model (`bathysphere models`)",
    ]


def test_models_that_can_answer_are_not_spoken_of(capsys):
    warn_about_models(ModelSettings(main="openai:gpt-5", openai_api_key="sk-test"))
    warn_about_models(ModelSettings())
    assert capsys.readouterr().err == ""
