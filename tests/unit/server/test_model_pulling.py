"""Loading the operator's model from a program that fetches its models itself."""

import asyncio

import pytest

from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.models.check import ModelCheck
from bathysphere.models.settings import ModelSettings
from bathysphere.server.models import loading
from bathysphere.server.models.loading import ModelLoading


@pytest.fixture
def ollama(monkeypatch):
    """An Ollama with some models; the names of those that were pulled."""
    pulled = []

    def having(*names, error=None):
        async def found(settings, probe):
            return [*names, *pulled]

        async def pull(name, settings, *, progress):
            for done in (0, 50, 100):
                progress(done, 100)
            if error is not None:
                raise error
            pulled.append(name.name)

        async def check(name, settings):
            has = name.partition(":")[2] in await found(settings, None)
            return ModelCheck(name=name, usable=has, detail="has no model")

        monkeypatch.setitem(loading.LISTS, "ollama", found)
        monkeypatch.setattr(loading, "pull", pull)
        monkeypatch.setattr(loading, "check", check)
        monkeypatch.setattr(loading, "resolve", lambda *_: None)
        return pulled

    return having


async def events():
    load = ModelLoading(ModelSettings(main="ollama:qwen3:4b"))
    return [event async for event in await load.follow()]


async def test_a_missing_model_is_pulled_with_progress_and_then_ready(ollama):
    pulled = ollama("other:latest")
    told = await events()
    assert pulled == ["qwen3:4b"]
    fetched = [event for event in told if event["status"] == "downloading"]
    assert [event["progress"] for event in fetched] == [0, 50, 99]
    assert fetched[0]["file"] == "qwen3:4b"
    assert told[-1]["status"] == "ready"


async def test_a_model_that_is_there_is_not_pulled(ollama):
    pulled = ollama("qwen3:4b")
    assert (await events())[-1]["status"] == "ready"
    assert pulled == []


@pytest.mark.parametrize("error", [UpstreamError("no space"), ModelUnavailable("not running")])
async def test_a_pull_that_fails_is_the_last_event(ollama, error):
    ollama(error=error)
    assert (await events())[-1]["error"] == error.message


async def test_another_choice_gives_up_the_load_and_tells_who_follows(ollama, monkeypatch):
    ollama("here")
    begun = asyncio.Event()

    async def endless(name, settings, *, progress):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(loading, "pull", endless)
    load = ModelLoading(ModelSettings(main="ollama:qwen3:4b"))
    following = asyncio.create_task(collected(load))
    async with asyncio.timeout(5):
        await begun.wait()
        load.use(ModelSettings(main="ollama:here"))
        told = await following
        again = await collected(load)
    assert told[-1]["error"] == "Another model was chosen"
    assert [event["modelId"] for event in again] == ["ollama:here"] * len(again)
    assert again[-1]["status"] == "ready"


async def collected(load):
    return [event async for event in await load.follow()]
