"""Loading the operator's model: every follower hears an end, whatever happens."""

import asyncio

import pytest

from bathysphere.models.settings import ModelSettings
from bathysphere.server.models import loading as model_loading
from bathysphere.server.models.loading import ModelLoading


async def followed(loading):
    return [news async for news in await loading.follow()]


async def test_an_unforeseen_failure_ends_the_wait_and_can_be_tried_again(monkeypatch):
    loading = ModelLoading(ModelSettings(main="demo:tour"))

    def fail(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(model_loading, "resolve", fail)
        async with asyncio.timeout(5):
            one, other = await followed(loading), await followed(loading)
    assert one[-1]["status"] == "error"
    assert one[-1]["hint"]
    assert other[-1]["status"] == "error"
    with pytest.raises(ZeroDivisionError):
        await loading._load._task
    async with asyncio.timeout(5):
        assert (await followed(loading))[-1]["status"] == "ready"
