"""Which model is used: our variables first, then the ones people already have, else the tour."""

from pathlib import Path

import pytest
from pydantic import AliasChoices

from bathysphere.core.errors import ConfigError
from bathysphere.models.names import ROLES
from bathysphere.models.settings import PREFIX, ModelSettings

DOCS = Path(__file__).parents[3] / "docs" / "models.md"


@pytest.fixture
def settings(monkeypatch):
    def read(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return ModelSettings.from_environment()

    return read


def test_nothing_set_means_the_tour_for_every_role(settings):
    read = settings()
    assert [read.choice(role).name for role in ROLES] == ["demo:tour"] * 4


def test_a_key_alone_never_chooses_a_paid_model(settings):
    read = settings(ANTHROPIC_API_KEY="sk-a", OPENAI_API_KEY="sk-o", GOOGLE_API_KEY="g")
    assert read.choice("main").name == "demo:tour"
    assert read.choice("main").source == "default"


def test_roles_take_the_main_model_unless_they_have_their_own(settings):
    read = settings(BATHYSPHERE_MODEL_MAIN="ollama:qwen3", BATHYSPHERE_MODEL_AUDIT="anthropic:c")
    assert read.choice("main") == ("ollama:qwen3", "BATHYSPHERE_MODEL_MAIN", "setting")
    assert read.choice("subagent") == ("ollama:qwen3", "the main model", "main")
    assert read.choice("summary") == ("ollama:qwen3", "the main model", "main")
    assert read.choice("audit") == ("anthropic:c", "BATHYSPHERE_MODEL_AUDIT", "setting")


def test_a_single_subagent_may_have_a_model_of_its_own(settings):
    read = settings(
        BATHYSPHERE_MODEL_SUBAGENT="ollama:small",
        BATHYSPHERE_MODEL_SUBAGENT_FILES="ollama:qwen3",
        BATHYSPHERE_MODEL_SUBAGENT_GENERAL_PURPOSE="demo:tour",
        BATHYSPHERE_MODEL_SUBAGENT_CRITIC="",
    )
    assert read.subagents == {"files": "ollama:qwen3", "general-purpose": "demo:tour"}
    assert read.choice("subagent").name == "ollama:small"


@pytest.mark.parametrize(
    ("environment", "main"),
    [
        ({"DEEPAGENTS_MODEL_PROVIDER": "ollama", "OLLAMA_MODEL_NAME": "qwen3"}, "ollama:qwen3"),
        ({"OLLAMA_MODEL_NAME": "qwen3:4b"}, "ollama:qwen3:4b"),
        ({"OLLAMA_MODEL_NAME": "q", "LM_STUDIO_MODEL_NAME": "gemma"}, "ollama:q"),
        ({"LM_STUDIO_MODEL_NAME": "gemma"}, "lm-studio:gemma"),
        (
            {
                "DEEPAGENTS_MODEL_PROVIDER": "lm-studio",
                "OLLAMA_MODEL_NAME": "q",
                "LM_STUDIO_MODEL_NAME": "gemma",
            },
            "lm-studio:gemma",
        ),
        (
            {"DEEPAGENTS_MODEL_PROVIDER": "ollama", "BATHYSPHERE_MODEL_MAIN": "demo:tour"},
            "demo:tour",
        ),
    ],
)
def test_the_variables_of_older_deep_agents_choose_the_main_model(settings, environment, main):
    assert settings(**environment).choice("main").name == main


@pytest.mark.parametrize(
    ("environment", "message", "hint"),
    [
        ({"DEEPAGENTS_MODEL_PROVIDER": "ollama"}, "no model is set", "OLLAMA_MODEL_NAME"),
        ({"DEEPAGENTS_MODEL_PROVIDER": "lm-studio"}, "no model is set", "LM_STUDIO_MODEL_NAME"),
        ({"DEEPAGENTS_MODEL_PROVIDER": "groq"}, "is not ollama or", "BATHYSPHERE_MODEL_MAIN"),
    ],
)
def test_a_provider_without_a_model_is_one_sentence(settings, environment, message, hint):
    with pytest.raises(ConfigError, match=message) as error:
        settings(**environment).choice("main")
    assert hint in error.value.hint


def test_addresses_and_keys_of_older_deep_agents_are_used(settings):
    read = settings(
        OLLAMA_BASE_URL="http://gpu:11434",
        OLLAMA_HOST="other:1",
        LM_STUDIO_BASE_URL="http://gpu:1234",
        LM_STUDIO_API_KEY="secret",
    )
    assert read.ollama_url == "http://gpu:11434"
    assert read.lm_studio_url == "http://gpu:1234/v1"
    assert read.lm_studio_api_key.get_secret_value() == "secret"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu", "http://gpu:11434"),
        ("gpu:1", "http://gpu:1"),
        (":5000", "http://127.0.0.1:5000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::]:7", "http://127.0.0.1:7"),
        ("[::1]:7", "http://[::1]:7"),
        ("https://gpu.example/", "https://gpu.example"),
        ("https://me:pw@gpu.example:8/ollama", "https://me:pw@gpu.example:8/ollama"),
    ],
)
def test_every_form_of_ollama_host_becomes_an_address_to_call(settings, host, url):
    assert settings(OLLAMA_HOST=host).ollama_url == url


def test_our_own_variable_wins_over_what_others_set(settings):
    read = settings(BATHYSPHERE_MODEL_OPENAI_API_KEY="ours", OPENAI_API_KEY="theirs")
    assert read.openai_api_key.get_secret_value() == "ours"


def test_an_empty_variable_is_an_unset_one(settings):
    read = settings(BATHYSPHERE_MODEL_MAIN="", OPENAI_API_KEY="", BATHYSPHERE_MODEL_RETRIES="")
    assert (read.choice("main").name, read.openai_api_key, read.retries) == ("demo:tour", None, 2)


def test_the_fallback_chain_is_a_list_with_commas(settings):
    read = settings(BATHYSPHERE_MODEL_FALLBACK="openai:gpt-5.5, ollama:qwen3 ,")
    assert read.fallback == ("openai:gpt-5.5", "ollama:qwen3")


@pytest.mark.parametrize(
    ("variable", "value"),
    [("RETRIES", "-1"), ("RETRIES", "many"), ("TIMEOUT_S", "0"), ("THREADS", "x")],
)
def test_a_bad_value_names_its_variable_and_shows_no_report(settings, variable, value):
    with pytest.raises(ConfigError) as error:
        settings(**{f"{PREFIX}{variable}": value})
    assert error.value.message.startswith(f"Invalid {PREFIX}{variable}: ")
    assert "\n" not in str(error.value)


def test_keys_do_not_show_when_settings_are_printed(settings):
    assert "sk-secret" not in repr(settings(ANTHROPIC_API_KEY="sk-secret"))


def test_the_home_folder_is_expanded(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings().folder == tmp_path / ".local/share/bathysphere/models"


def test_every_setting_is_described_and_in_the_documentation():
    docs = DOCS.read_text(encoding="utf-8")
    for name, field in ModelSettings.model_fields.items():
        assert field.description, name
        alias = field.validation_alias
        variables = alias.choices if isinstance(alias, AliasChoices) else [alias]
        for variable in variables:
            assert f"`{variable or (PREFIX + name).upper()}`" in docs, name
