"""`bathysphere models test` over real wires: five styles of servers, and the small real model."""

import json

import pytest

from bathysphere.cli.main import main
from bathysphere.models import probes
from bathysphere.models.profiles import INSTALLATION, load_report
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ModelServer, SmallModel, calls, refuses, says, together

FISH = says(json.dumps({"name": "Halibut", "lives_deep": True, "metres": 2000}))
COUNTS = says("one two three four five six seven eight nine ten")
TALKS = [says("Hello."), says("BLUE"), says("Der Himmel ist blau.")]
BOTH = together(calls("sea_depth", place="Bermuda"), calls("sea_depth", place="Guam"))
ACTS = [
    calls("sea_depth", place="Bermuda"),
    calls("plan_dive", metres=60, gas="trimix"),
    calls("sea_depth", place="Guam"),
    says("The sea is 10,935 metres deep there."),
    says("4"),
]
FULL = [*TALKS, *ACTS, BOTH, FISH, says("HALIBUT"), says("HALIBUT"), COUNTS]

TOO_LONG = "the request exceeds the available context size, try increasing it"
# Of llama.cpp's server: one call at a time, and a context window that the operator chose.
LLAMA_CPP = [*TALKS, *ACTS, ACTS[0], FISH, says("HALIBUT"), refuses(400, TOO_LONG), COUNTS]

FENCED = '```json\n{"name": "sea_depth", "arguments": {"place": "Bermuda"}}\n```'
TEXT_ONLY = [*TALKS, says(FENCED), says("Halibut, a deep one."), says("HALIBUT"), COUNTS]

STYLES = {
    "openai": ("openai:gpt-scripted", "/v1/chat/completions", FULL, "full"),
    "anthropic": ("anthropic:claude-scripted", "/v1/messages", FULL, "full"),
    "ollama": ("ollama:scripted", "/api/chat", FULL, "full"),
    "llama.cpp": ("lm-studio:scripted", "/v1/chat/completions", LLAMA_CPP, "lean"),
    "text only": ("lm-studio:words", "/v1/chat/completions", TEXT_ONLY, "lean"),
}


@pytest.fixture
def environment(monkeypatch, tmp_path):
    def point_to(base, openai):
        monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(tmp_path))
        monkeypatch.setenv("BATHYSPHERE_MODEL_OPENAI_URL", openai)
        monkeypatch.setenv("BATHYSPHERE_MODEL_LM_STUDIO_URL", openai)
        monkeypatch.setenv("BATHYSPHERE_MODEL_ANTHROPIC_URL", base)
        monkeypatch.setenv("BATHYSPHERE_MODEL_OLLAMA_URL", base)
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_API_KEY", "test")
        return ModelSettings.from_environment()

    return point_to


# LangChain keeps the clients' connections open.
OPEN = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.node
@pytest.mark.filterwarnings(*OPEN)
@pytest.mark.usefixtures("open_connections")
@pytest.mark.parametrize("style", STYLES)
def test_each_style_of_server_gets_its_profile(style, environment, capsys):
    name, path, script, profile = STYLES[style]
    with ModelServer(script) as server:
        settings = environment(server.url, server.openai_base_url)
        assert main(["models", "test", name]) == 0
        server.assert_done()
        requests = server.requests()
    assert {request.path.partition("?")[0] for request in requests} == {path}
    assert "sea_depth" in json.dumps(requests[3].body["tools"])
    shown = capsys.readouterr().out
    assert f"Profile: {profile}" in shown
    report = load_report(name, settings)
    assert report.profile == profile
    assert report.tokens_per_s > 0
    states = {result.name: result.state for result in report.probes}
    assert states[probes.SCHEMA] == ("failed" if style == "text only" else "passed")
    assert states[probes.CALLS] == ("failed" if style == "text only" else "passed")


@pytest.mark.small_model
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings(*OPEN)
@pytest.mark.usefixtures("open_connections")
@pytest.mark.long(
    "tests/integration/test_models_probed.py::test_each_style_of_server_gets_its_profile"
)
def test_the_small_real_model_is_lean_and_tests_the_installation(environment, capsys, monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_TEMPERATURE", "0")
    with SmallModel() as server:
        settings = environment(server.url, server.base_url)
        assert main(["models", "test", f"lm-studio:{server.name}"]) == 0
    report = load_report(f"lm-studio:{server.name}", settings)
    assert (report.profile, report.trust) == ("lean", INSTALLATION)
    assert {r.name for r in report.probes if r.state == "passed"} >= {probes.ANSWERS, probes.SCHEMA}
    assert f"Use it for: {INSTALLATION}" in capsys.readouterr().out
