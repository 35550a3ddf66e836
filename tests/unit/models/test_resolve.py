"""A name becomes a chat model, or one sentence that says what is missing."""

import pytest

from bathysphere.core.errors import BathysphereError, ConfigError, ModelUnavailable
from bathysphere.models import check as checks
from bathysphere.models.names import ROLES, parse
from bathysphere.models.resolve import Models, name_of, resolve
from bathysphere.models.settings import ModelSettings


def test_an_ollama_model_uses_ollamas_own_client():
    settings = ModelSettings(ollama_url="gpu", timeout_s=7, temperature=0.5)
    model = resolve("ollama:qwen3:4b", settings)
    assert type(model).__name__ == "ChatOllama"
    assert (model.model, model.base_url) == ("qwen3:4b", "http://gpu:11434")
    assert model.client_kwargs == {"timeout": 7}
    assert model.temperature == 0.5


def test_an_lm_studio_model_speaks_chat_completions_and_reports_its_usage():
    settings = ModelSettings(lm_studio_url="http://gpu:1234/v1", lm_studio_api_key="k", timeout_s=7)
    model = resolve("lm-studio:gemma", settings)
    assert type(model).__name__ == "ChatOpenAI"
    assert (model.model_name, model.openai_api_base) == ("gemma", "http://gpu:1234/v1")
    assert model.openai_api_key.get_secret_value() == "k"
    assert model.use_responses_api is False
    assert model.stream_usage is True
    assert (model.request_timeout, model.max_retries) == (7, 0)


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [
        ("anthropic:claude-sonnet-4-6", {"anthropic_api_key": "sk"}, "ChatAnthropic"),
        ("openai:gpt-5.5", {"openai_api_key": "sk"}, "ChatOpenAI"),
        ("google_genai:gemini-3.5-flash", {"google_api_key": "sk"}, "ChatGoogleGenerativeAI"),
    ],
)
def test_a_hosted_model_gets_its_key_from_the_settings(name, settings, kind):
    model = resolve(name, ModelSettings(**settings, timeout_s=9), retries=3)
    assert type(model).__name__ == kind
    assert model.max_retries == 3
    assert name_of(model) == name


def test_an_openai_model_at_another_address_does_not_use_the_responses_api():
    settings = ModelSettings(openai_api_key="k", openai_url="http://vllm/v1")
    assert resolve("openai:gpt-5.5", settings).use_responses_api is False


def test_the_tour_is_a_model():
    model = resolve("demo:tour", ModelSettings(demo_pause_s=0))
    assert type(model).__name__ == "DemoTourModel"
    assert name_of(model) == "demo:tour"


@pytest.mark.parametrize("text", ["", "gpt-5.5", ":x", "ollama:", "  "])
def test_a_name_without_a_provider_is_refused_with_an_example(text):
    with pytest.raises(ConfigError) as error:
        resolve(text, ModelSettings())
    assert "provider:name" in error.value.hint


@pytest.mark.parametrize("text", ["lm-studio:a/b:c", "LMStudio:a/b:c", "lm_studio:a/b:c"])
def test_the_first_colon_ends_the_provider_and_its_spellings_are_one(text):
    assert parse(text) == ("lm-studio", "a/b:c")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5.5", "OPENAI_API_KEY"),
        ("google_genai:gemini-3.5-flash", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_one_sentence_with_its_variable(name, variable):
    with pytest.raises(ModelUnavailable) as error:
        resolve(name, ModelSettings())
    assert error.value.message == f"{name} needs an API key ({variable})"
    assert variable in error.value.hint


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("ollama:q", "langchain_ollama", "ollama"),
        ("lm-studio:q", "langchain_openai", "openai"),
        ("openai:q", "langchain_openai", "openai"),
        ("llamacpp:q", "xllamacpp", "local"),
        ("llamacpp:q", "langchain_openai", "local"),
    ],
)
def test_a_missing_package_names_the_extra_to_install(monkeypatch, name, package, extra):
    find = checks.importlib.util.find_spec
    monkeypatch.setattr(
        checks.importlib.util, "find_spec", lambda n: None if n == package else find(n)
    )
    with pytest.raises(ConfigError) as error:
        resolve(name, ModelSettings(openai_api_key="k"))
    assert error.value.hint == f'pip install "bathysphere[{extra}]"'


def test_a_provider_that_needs_another_package_says_which():
    with pytest.raises(ModelUnavailable) as error:
        resolve("groq:llama", ModelSettings())
    assert error.value.hint == "pip install langchain-groq"


@pytest.mark.parametrize("name", ["nope:x", "demo:other"])
def test_an_unknown_provider_or_demo_is_one_sentence(name):
    with pytest.raises(ModelUnavailable) as error:
        resolve(name, ModelSettings())
    assert error.value.hint
    assert "\n" not in str(error.value)


def test_a_missing_gguf_file_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(ModelUnavailable) as error:
        resolve("llamacpp:none", ModelSettings(folder=tmp_path))
    assert str(tmp_path) in error.value.message
    assert "bathysphere models pull" in error.value.hint


def test_a_file_that_is_not_gguf_is_not_loaded(tmp_path):
    (tmp_path / "page.gguf").write_text("<html>not found</html>")
    with pytest.raises(ModelUnavailable, match="is not a GGUF file"):
        resolve("llamacpp:page", ModelSettings(folder=tmp_path))


def test_roles_with_the_same_model_share_it():
    models = Models.from_settings(
        ModelSettings(main="ollama:a", audit="ollama:b", fallback="ollama:a,demo:tour", retries=0)
    )
    assert [name_of(models.of(role)) for role in ROLES] == ["ollama:a"] * 3 + ["ollama:b"]
    assert models.main is models.subagent is models.summary is models.fallback[0]
    assert [name_of(model) for model in models.fallback] == ["ollama:a", "demo:tour"]


def test_only_models_called_outside_the_agent_loop_retry_by_themselves():
    settings = ModelSettings(main="openai:a", openai_api_key="k", retries=4)
    models = Models.from_settings(settings)
    assert (models.main.max_retries, models.subagent.max_retries) == (0, 0)
    assert (models.summary.max_retries, models.audit.max_retries) == (4, 4)


def test_a_fallback_that_cannot_be_built_is_told_at_once():
    with pytest.raises(BathysphereError, match="ANTHROPIC_API_KEY"):
        Models.from_settings(ModelSettings(fallback="anthropic:c"))
