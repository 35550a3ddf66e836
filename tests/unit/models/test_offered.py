"""The operator's list of models for conversations."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.models.offered import OfferedModel, offered_models
from bathysphere.models.settings import ModelSettings


def offered(text, monkeypatch, *, found=(), main="openai:small"):
    monkeypatch.setenv("BATHYSPHERE_MODELS_OFFERED", text)
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", main)
    return offered_models(ModelSettings.from_environment(), found)


def test_the_main_model_is_always_offered(monkeypatch):
    assert offered("", monkeypatch) == (OfferedModel("openai:small"),)
    assert offered("openai:large", monkeypatch) == (
        OfferedModel("openai:small"),
        OfferedModel("openai:large"),
    )


def test_the_operator_names_and_orders_models(monkeypatch):
    assert offered("lmstudio:a:b = Thorough, openai:small=Quick,", monkeypatch) == (
        OfferedModel("lm-studio:a:b", "Thorough"),
        OfferedModel("openai:small", "Quick"),
    )


def test_what_was_found_is_offered_where_nothing_is_listed(monkeypatch):
    found = ["ollama:qwen3", "openai:small"]
    assert [each.name for each in offered("", monkeypatch, found=found)] == found
    listed = offered("openai:large", monkeypatch, found=found)
    assert [each.name for each in listed] == ["openai:small", "openai:large"]


@pytest.mark.parametrize("text", ["large", "openai:a,openai:a=Twice", "=Label"])
def test_a_mistake_in_the_list_names_the_setting(text, monkeypatch):
    with pytest.raises(ConfigError, match="BATHYSPHERE_MODELS_OFFERED"):
        offered(text, monkeypatch)
