"""Pulling a model through Ollama and LM Studio: what is asked, shown and refused."""

import json

import httpx
import pytest

from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.models.names import parse
from bathysphere.models.pulling import pull
from bathysphere.models.settings import ModelSettings

SETTINGS = ModelSettings(
    ollama_url="http://ollama:11434", lm_studio_url="http://studio:1234/v1", lm_studio_api_key="k"
)


class Server:
    """Answers requests in order, and keeps them."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    async def pull(self, name):
        shown = []
        await pull(
            parse(name),
            SETTINGS,
            progress=lambda *at: shown.append(at),
            transport=httpx.MockTransport(self._answer),
            poll_s=0,
        )
        assert not self.answers
        return shown

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def lines(*events):
    return httpx.Response(200, text="".join(json.dumps(event) + "\n" for event in events))


# ── Ollama ──


async def test_ollama_pulls_with_the_sum_of_its_layers_as_progress():
    server = Server(
        lines(
            {"status": "pulling manifest"},
            {"status": "pulling a", "digest": "sha256:a", "total": 100},
            {"status": "pulling a", "digest": "sha256:a", "total": 100, "completed": 60},
            {"status": "pulling b", "digest": "sha256:b", "total": 20, "completed": 20},
            {"status": "verifying sha256 digest"},
            {"status": "success"},
        )
    )
    assert await server.pull("ollama:qwen3:4b") == [(0, 100), (60, 100), (80, 120)]
    (request,) = server.requests
    assert (request.method, str(request.url)) == ("POST", "http://ollama:11434/api/pull")
    assert json.loads(request.content) == {"model": "qwen3:4b", "stream": True}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lines({"status": "pulling manifest"}, {"error": "file does not exist"}), "does not exist"),
        (httpx.Response(404, json={"error": "no such model"}), "no such model"),
        (lines({"status": "pulling manifest"}), "Ollama stopped before qwen9 was complete"),
        (httpx.ReadError("gone"), "Lost the connection to Ollama"),
        (httpx.Response(200, text="<html>"), "Lost the connection to Ollama"),
    ],
)
async def test_what_ollama_cannot_pull_is_an_error_with_its_reason(answer, message):
    with pytest.raises(UpstreamError, match=message) as error:
        await Server(answer).pull("ollama:qwen9")
    assert error.value.hint


# ── LM Studio ──


async def test_lm_studio_is_asked_how_far_it_is_until_it_has_the_model():
    server = Server(
        httpx.Response(
            200, json={"job_id": "job_1", "status": "downloading", "total_size_bytes": 90}
        ),
        httpx.Response(
            200,
            json={
                "job_id": "job_1",
                "status": "downloading",
                "downloaded_bytes": 30,
                "total_size_bytes": 90,
            },
        ),
        httpx.Response(200, json={"job_id": "job_1", "status": "completed"}),
    )
    assert await server.pull("lm-studio:google/gemma") == [(0, 90), (30, 90)]
    first, second, _ = server.requests
    root = "http://studio:1234/api/v1/models/download"
    assert (first.method, str(first.url)) == ("POST", root)
    assert json.loads(first.content) == {"model": "google/gemma"}
    assert first.headers["Authorization"] == "Bearer k"
    assert (second.method, str(second.url)) == ("GET", f"{root}/status/job_1")


async def test_a_model_that_lm_studio_has_is_not_fetched_again():
    server = Server(httpx.Response(200, json={"status": "already_downloaded"}))
    assert await server.pull("lm-studio:google/gemma") == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(200, json={"job_id": "j", "status": "failed"}), "the download failed"),
        (httpx.Response(400, json={"error": {"message": "unknown model"}}), "unknown model"),
        (httpx.Response(404, text="Not Found"), "cannot pull models over its API"),
        (httpx.Response(200, json={"data": []}), "the answer has no status"),
    ],
)
async def test_what_lm_studio_cannot_pull_is_an_error_with_its_reason(answer, message):
    with pytest.raises(UpstreamError, match=message):
        await Server(answer).pull("lm-studio:google/gemma")


@pytest.mark.parametrize("name", ["ollama:a", "lm-studio:a"])
async def test_a_program_that_does_not_run_is_named_with_how_to_start_it(name):
    with pytest.raises(ModelUnavailable, match="is not reachable") as error:
        await Server(httpx.ConnectError("refused")).pull(name)
    assert "start" in error.value.hint
