"""Choosing the model in the browser: what is found, what is kept, and who may."""

import json
import stat
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from serving import identify

from bathysphere.core.errors import ConfigError
from bathysphere.engine.graphs import Graphs
from bathysphere.models.settings import ModelSettings
from bathysphere.models.stored_choice import FILE
from bathysphere.server.app import create_app
from bathysphere.server.models.loading import ModelLoading
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.process.served_models import ServedModels, open_setup
from bathysphere.server.process.services import open_services
from bathysphere.server.process.settings import ServerSettings
from bathysphere.testing.model_program import ModelProgram

pytestmark = pytest.mark.services

KEY = "sk-ant-a-secret-of-the-person"
ROUTES = (
    ("GET", ""),
    ("PUT", ""),
    ("PUT", "/keys/anthropic"),
    ("DELETE", "/keys/anthropic"),
)


@pytest.fixture
def ollama():
    with ModelProgram("llama3.2:latest", "nomic-embed-text:latest").running() as program:
        yield program


@pytest.fixture
def studio():
    with ModelProgram("google/gemma-3-4b").running() as program:
        yield program


@pytest.fixture
def environment(ollama, studio, tmp_path):
    def make(**values):
        return ModelSettings.model_construct(
            ollama_url=ollama.url,
            lm_studio_url=f"{studio.url}/v1",
            folder=tmp_path / "models",
            **values,
        )

    return make


class Browser:
    """A page of the server, and the objects behind it."""

    def __init__(self, client, setup, served):
        self.client = client
        self.setup = setup
        self.served = served

    async def send(self, method, path="", **body):
        return await self.client.request(
            method, f"/models/setup{path}", json=body or None, headers={"x-user": "alice"}
        )

    async def view(self):
        return (await self.send("GET")).json()

    async def main(self):
        cards = (await self.client.get("/models", headers={"x-user": "alice"})).json()
        return next(card for card in cards if card["role"] == "main")


@asynccontextmanager
async def opened(database, environment, path, *, build=lambda *_: Graphs({})):
    setup = ModelSetup(environment, path) if path is not None else None
    models = setup.settings if setup is not None else environment
    served = ServedModels(models, build, loading=ModelLoading(models))
    if setup is not None:
        setup.on_change(served.use)
    async with open_services(database=database, graphs=served.graphs({})) as services:
        app = create_app(
            services=services, identify=identify, list_models=served.cards, model_setup=setup
        )
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield Browser(client, setup, served)


@pytest.fixture
async def browser(database, environment, tmp_path):
    async with opened(database, environment(), tmp_path / FILE) as found:
        yield found


async def test_what_runs_here_is_found_with_what_it_can_fetch(browser):
    found = await browser.view()
    assert found["model"] == "demo:tour"
    assert found["fixed_by"] is None
    ollama, studio, built_in = found["programs"]
    assert [(each["name"], each["is_here"]) for each in ollama["models"]] == [
        ("ollama:llama3.2:latest", True),  # and no model for embeddings
        ("ollama:qwen3:4b", False),
        ("ollama:qwen3:8b", False),
    ]
    assert ollama["models"][1]["size"] == 2_500_000_000
    assert ollama["models"][1]["licence"] == "Apache-2.0"
    assert studio["models"][0]["name"] == "lm-studio:google/gemma-3-4b"
    assert built_in["models"] == []  # the smallest one cannot talk, so it is not offered
    assert {each["key"] for each in found["providers"]} == {None}


async def test_a_program_that_does_not_run_offers_nothing(database, environment, tmp_path):
    away = environment().model_copy(update={"ollama_url": "http://127.0.0.1:9"})
    async with opened(database, away, tmp_path / FILE) as browser:
        ollama = (await browser.view())["programs"][0]
    assert ollama["is_running"] is False
    assert ollama["models"] == []


async def test_a_choice_is_used_at_once_and_after_a_restart(
    browser, database, environment, tmp_path
):
    answer = await browser.send("PUT", model="ollama:llama3.2:latest")
    assert answer.json()["model"] == "ollama:llama3.2:latest"
    main = await browser.main()
    assert (main["name"], main["is_usable"]) == ("ollama:llama3.2:latest", True)
    assert main["is_changeable"] is True
    async with opened(database, environment(), tmp_path / FILE) as again:
        assert (await again.main())["name"] == "ollama:llama3.2:latest"
        await again.send("PUT", model="demo:tour")
        assert (await again.main())["name"] == "demo:tour"
    assert json.loads((tmp_path / FILE).read_text())["model"] is None


async def test_a_model_of_the_catalogue_is_chosen_and_then_pulled(browser, ollama):
    assert (await browser.send("PUT", model="ollama:qwen3:4b")).status_code == 200
    assert (await browser.main())["is_usable"] is False
    events = [event async for event in await browser.served._loading.follow()]
    assert events[-1]["status"] == "ready", events
    assert "qwen3:4b" in ollama.names
    assert (await browser.main())["is_usable"] is True


@pytest.mark.parametrize(
    "model",
    [
        "ollama:not-here",
        "llamacpp:/etc/passwd",
        "llamacpp:../../x",
        "anthropic:claude-x",  # no key
        "anthropic:claude x\n",
        "groq:anything",
        "nothing",
        "",
    ],
)
async def test_other_models_are_refused_and_nothing_changes(browser, tmp_path, model):
    answer = await browser.send("PUT", model=model)
    assert answer.status_code == 422, answer.text
    assert (await browser.main())["name"] == "demo:tour"
    assert not (tmp_path / FILE).exists()


async def test_a_key_is_kept_for_its_owner_and_never_sent_back(browser, tmp_path):
    answers = [
        await browser.send("PUT", "/keys/anthropic", key=KEY),
        await browser.send("GET"),
        await browser.send("PUT", model="anthropic:claude-x"),
        await browser.send("PUT", "/keys/nobody", key=KEY),
        await browser.send("PUT", "/keys/anthropic", key=[KEY]),
        await browser.send("PUT", "/keys/anthropic", key=f"{KEY} and more"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422, 422, 422]
    assert all(KEY not in answer.text for answer in answers)
    assert answers[1].json()["providers"][0]["key"] == "stored"
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert browser.served.settings.anthropic_api_key == SecretStr(KEY)
    assert (await browser.main())["is_usable"] is True
    removed = await browser.send("DELETE", "/keys/anthropic")
    assert removed.json()["model"] == "demo:tour"  # its model cannot be used without it
    assert KEY not in (tmp_path / FILE).read_text()


async def test_the_environment_wins_and_says_so(database, environment, tmp_path):
    fixed = environment(main="demo:tour", anthropic_api_key=SecretStr(KEY))
    async with opened(database, fixed, tmp_path / FILE) as browser:
        found = await browser.view()
        assert found["fixed_by"] == "BATHYSPHERE_MODEL_MAIN"
        assert found["providers"][0]["key"] == "environment"
        answers = [
            await browser.send("PUT", model="ollama:llama3.2:latest"),
            await browser.send("PUT", "/keys/anthropic", key="sk-another-key"),
            await browser.send("DELETE", "/keys/anthropic"),
        ]
    assert [answer.status_code for answer in answers] == [422] * 3
    assert "BATHYSPHERE_MODEL_MAIN" in answers[0].text
    assert "ANTHROPIC_API_KEY" in answers[1].text


async def test_a_choice_that_agents_cannot_be_built_with_changes_nothing(
    database, environment, tmp_path
):
    def build(models, _):
        if models.choice("main").name != "demo:tour":
            raise ConfigError("An agent cannot be built")
        return Graphs({})

    async with opened(database, environment(), tmp_path / FILE, build=build) as browser:
        answer = await browser.send("PUT", model="ollama:llama3.2:latest")
        assert answer.is_error
        assert (await browser.main())["name"] == "demo:tour"
    assert json.loads((tmp_path / FILE).read_text())["model"] is None


async def test_elsewhere_the_routes_do_not_exist(database, environment):
    async with opened(database, environment(), None) as browser:
        for method, path in ROUTES:
            answer = await browser.send(method, path, model="demo:tour", key=KEY)
            assert answer.status_code == 404, (method, path)
        assert (await browser.main())["is_changeable"] is False


OWN = {"host": "127.0.0.1", "auth": ("anonymous",)}
NOT_OWN = (
    {"auth": ("api-key",)},
    {"auth": ("project",)},
    {"host": "0.0.0.0", "allow_anonymous_anywhere": True},
    {"allow_anonymous_anywhere": True},
    {"redis_url": SecretStr("redis://x"), "database_url": SecretStr("postgresql://x")},
    {"allowed_hosts": ("bathysphere.example.org",)},
    {"cors_origins": ("https://example.org",)},
)


def setup_of(tmp_path, *, works=True, is_paid=False, **more):
    settings = ServerSettings(data_dir=tmp_path, **(OWN | more))
    return open_setup(settings, ModelSettings(), works=works, is_paid=is_paid)


def test_a_server_for_one_person_at_the_machine_lets_them_choose(tmp_path):
    assert setup_of(tmp_path) is not None


@pytest.mark.parametrize("more", NOT_OWN)
def test_no_other_server_does(tmp_path, more):
    assert setup_of(tmp_path, **more) is None


def test_nor_one_without_a_worker_or_with_payments(tmp_path):
    assert setup_of(tmp_path, works=False) is None
    assert setup_of(tmp_path, is_paid=True) is None
