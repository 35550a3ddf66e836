"""The model and keys that a person chose: kept for them alone, under the environment."""

import json
import stat

import pytest
from pydantic import SecretStr

from bathysphere.core.errors import ConfigError
from bathysphere.models.settings import ModelSettings
from bathysphere.models.stored_choice import StoredChoice, read_choice, write_choice

KEY = SecretStr("sk-of-the-person")
CHOICE = StoredChoice(model="anthropic:claude-x", keys={"anthropic": KEY})


def environment(**values):
    return ModelSettings.model_construct(**values)


def test_it_is_kept_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "data" / "model.json"
    write_choice(path, StoredChoice(model="ollama:a"))
    write_choice(path, CHOICE)
    assert read_choice(path) == CHOICE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["model.json"]


def test_without_a_file_nothing_is_chosen(tmp_path):
    assert read_choice(tmp_path / "model.json") == StoredChoice()


@pytest.mark.parametrize("content", ["{", "[]", '{"model": 3, "keys": {}}', "{}"])
def test_a_damaged_file_is_named_without_its_content(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"model\.json") as caught:
        read_choice(path)
    assert caught.value.__cause__ is None
    assert "delete the file" in (caught.value.hint or "")


def test_a_provider_that_is_not_known_is_refused(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"model": None, "keys": {"folder": "/etc"}}))
    with pytest.raises(ConfigError):
        read_choice(path)


def test_it_fills_what_the_environment_leaves_open():
    settings = CHOICE.apply(environment())
    assert settings.choice("main").name == "anthropic:claude-x"
    assert settings.anthropic_api_key == KEY


@pytest.mark.parametrize("named", [{"main": "demo:tour"}, {"ollama_name": "qwen3"}])
def test_the_model_of_the_environment_wins(named):
    settings = CHOICE.apply(environment(**named))
    assert settings.choice("main") == environment(**named).choice("main")


def test_the_key_of_the_environment_wins():
    operators = SecretStr("sk-of-the-operator")
    assert CHOICE.apply(environment(anthropic_api_key=operators)).anthropic_api_key == operators
