"""Whether a model can be used, asked quickly and without a prompt."""

import httpx
import pytest

from bathysphere.models.catalog import survey
from bathysphere.models.check import Probe
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings


def answering(answers):
    """A probe whose servers answer `answers[path]`: JSON, a status, or an error to raise."""

    def handle(request):
        answer = answers[request.url.path]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return httpx.Response(answer)
        if isinstance(answer, str):
            return httpx.Response(200, text=answer)
        return httpx.Response(200, json=answer)

    return Probe(transport=httpx.MockTransport(handle))


OLLAMA = {"/api/tags": {"models": [{"name": "qwen3:latest"}, {"name": "gemma3:4b"}]}}
LM_STUDIO = {"/v1/models": {"object": "list", "data": [{"id": "qwen/qwen3-4b"}]}}


@pytest.mark.parametrize("name", ["ollama:qwen3", "ollama:qwen3:latest", "ollama:gemma3:4b"])
async def test_an_ollama_model_that_was_pulled_is_usable(name):
    result = await check(name, ModelSettings(), probe=answering(OLLAMA))
    assert (result.name, result.usable) == (name, True)


@pytest.mark.parametrize("name", ["ollama:gemma3", "ollama:qwen3:4b"])
async def test_an_ollama_model_that_was_not_pulled_says_how_to_pull_it(name):
    result = await check(name, ModelSettings(), probe=answering(OLLAMA))
    assert not result.usable
    assert result.hint == f"run `ollama pull {name.removeprefix('ollama:')}`"


async def test_an_lm_studio_model_is_usable_when_the_server_lists_it():
    probe = answering(LM_STUDIO)
    assert (await check("lm-studio:qwen/qwen3-4b", ModelSettings(), probe=probe)).usable
    missing = await check("lm-studio:other", ModelSettings(), probe=probe)
    assert (missing.usable, "has no model other" in missing.detail) == (False, True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.ConnectError("refused"), "is not reachable at"),
        (httpx.ReadTimeout("slow"), "is not reachable at"),
        ("<html>", "is not reachable at"),
        ([1], "is not"),
        (503, "returned 503 at"),
    ],
)
@pytest.mark.parametrize(
    ("name", "path", "server", "fix"),
    [
        ("ollama:q", "/api/tags", "Ollama", "ollama serve"),
        ("lm-studio:q", "/v1/models", "LM Studio", "start the server in LM Studio"),
    ],
)
async def test_a_server_that_is_not_there_is_a_sentence_and_a_fix(
    name, path, server, fix, answer, words
):
    result = await check(name, ModelSettings(), probe=answering({path: answer}))
    assert not result.usable
    assert server in result.detail
    assert words in result.detail
    assert fix in result.hint


async def test_a_hosted_model_is_usable_when_its_key_is_set():
    name = "anthropic:claude-sonnet-4-6"
    assert (await check(name, ModelSettings(anthropic_api_key="k"))).usable
    missing = await check(name, ModelSettings())
    assert (missing.usable, "ANTHROPIC_API_KEY" in missing.hint) == (False, True)


async def test_a_gguf_file_is_checked_without_being_loaded(tmp_path):
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF and then nothing that could be loaded")
    settings = ModelSettings(folder=tmp_path)
    assert (await check("llamacpp:tiny", settings)).usable
    assert (await check(f"llamacpp:{tmp_path / 'tiny.gguf'}", settings)).usable
    assert not (await check("llamacpp:other", settings)).usable


@pytest.mark.parametrize("name", ["nonsense", "nope:x", "groq:x", "demo:other"])
async def test_a_check_never_raises_for_a_model_that_cannot_be_used(name):
    result = await check(name, ModelSettings())
    assert not result.usable
    assert result.hint


async def test_the_survey_shows_roles_fallbacks_and_what_is_here(tmp_path):
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    settings = ModelSettings(
        main="ollama:qwen3", fallback="lm-studio:x", folder=tmp_path, openai_api_key="k"
    )
    result = await survey(settings, probe=answering({**OLLAMA, "/v1/models": 500}))
    assert [(each.role, each.check.usable) for each in result.roles] == [
        ("main", True),
        ("subagent", True),
        ("summary", True),
        ("audit", True),
        ("fallback 1", False),
    ]
    assert [(each.provider, each.names) for each in result.found] == [
        ("ollama", ("gemma3:4b", "qwen3:latest")),
        ("lm-studio", ()),
        ("llamacpp", ("tiny",)),
    ]
    assert result.suggestions == ("openai:gpt-5.5",)


async def test_the_survey_shows_a_setting_that_cannot_be_used_as_a_failed_role(tmp_path):
    settings = ModelSettings(deepagents_provider="ollama", audit="demo:tour", folder=tmp_path)
    result = await survey(settings, probe=answering({**OLLAMA, **LM_STUDIO}))
    assert [each.check.usable for each in result.roles] == [False, False, False, True]
    assert "OLLAMA_MODEL_NAME" in result.roles[0].check.hint
