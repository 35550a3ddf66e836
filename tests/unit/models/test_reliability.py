"""Passing errors are tried again, other models follow, and the end is one sentence."""

import anthropic
import httpx
import ollama
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelRateLimitError,
    ModelTimeoutError,
)

from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.middleware.reliability import ExplainModelErrors, reliability
from bathysphere.models.failures import explain, is_transient
from bathysphere.models.resolve import NAME_KEY
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, fails, says

FAST = ModelSettings(retries=2, retry_delay_s=0)


class Answered(Exception):
    """An error that carries a status, as all clients' do."""

    def __init__(self, status, code=None):
        super().__init__(f"status {status}")
        self.status_code = status
        self.code = code


class GoogleStyle(Exception):
    """Google's client has the status in `code`."""

    def __init__(self, code):
        super().__init__("no")
        self.code = code


class TooLong(ContextOverflowError):
    """As clients raise it: a bad request, too."""

    status_code = 400


def anthropic_status(status):
    response = httpx.Response(status, request=httpx.Request("POST", "http://x"))
    return anthropic.APIStatusError("no", response=response, body=None)


PASSING = [
    *(Answered(status) for status in (408, 409, 429, 500, 502, 503, 529)),
    GoogleStyle(503),
    anthropic_status(529),
    ollama.ResponseError("loading", 503),
    ModelRateLimitError(),
    ModelAPIError(),
    ModelConnectionError(),
    ModelTimeoutError(),
    TimeoutError(),
    ConnectionResetError(),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    httpx.RemoteProtocolError("cut"),
]
LASTING = [
    *(Answered(status) for status in (400, 401, 403, 404, 413, 422)),
    Answered(429, code="insufficient_quota"),
    GoogleStyle(400),
    ollama.ResponseError("no such model", 404),
    ModelAuthenticationError(),
    ModelInvalidRequestError(),
    ContextOverflowError(),
    ValueError("a bug"),
    httpx.UnsupportedProtocol("ftp"),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_a_passing_error_is_tried_again(error):
    assert is_transient(error)


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_a_lasting_error_is_not_tried_again(error):
    assert not is_transient(error)


def test_an_explained_error_is_as_passing_as_its_cause():
    for error, passing in ((Answered(503), True), (Answered(401), False)):
        explained = explain(error, "openai:x")
        explained.__cause__ = error
        assert is_transient(explained) is passing
    assert not is_transient(UpstreamError("ours alone"))


@pytest.mark.parametrize(
    ("name", "error", "kind", "message", "hint"),
    [
        ("openai:x", Answered(401), ModelUnavailable, "rejected the API key", "OPENAI_API_KEY"),
        ("groq:x", Answered(403), ModelUnavailable, "rejected the API key", "provider's API key"),
        ("ollama:x", Answered(404), ModelUnavailable, "unknown", "bathysphere models"),
        ("openai:x", Answered(429), UpstreamError, "rate limiting", "FALLBACK"),
        ("openai:x", Answered(503), UpstreamError, "status 503", "FALLBACK"),
        ("ollama:x", ConnectionError(), ModelUnavailable, "is unreachable", "ollama serve"),
        ("lm-studio:x", ModelConnectionError(), ModelUnavailable, "unreachable", "LM Studio"),
        ("openai:x", httpx.ReadError("cut"), ModelUnavailable, "is unreachable", "network"),
        ("openai:x", TimeoutError(), UpstreamError, "timed out", "BATHYSPHERE_MODEL_TIMEOUT_S"),
    ],
)
def test_a_failure_is_one_sentence_with_a_fix(name, error, kind, message, hint):
    explained = explain(error, name)
    assert type(explained) is kind
    assert explained.message.startswith(name)
    assert message in explained.message
    assert hint in explained.hint


def test_a_bad_request_says_what_the_provider_said():
    assert "(400): status 400" in explain(Answered(400), "openai:x").message


@pytest.mark.parametrize("error", [TooLong(), ValueError("a bug"), UpstreamError("x")])
def test_what_is_not_the_models_failure_is_left_alone(error):
    assert explain(error, "openai:x") is None


def test_the_stack_is_fallback_then_retry_then_explanation():
    stack = reliability(FAST, fallback=(ScriptedChatModel(),))
    assert [type(each) for each in stack] == [
        ModelFallbackMiddleware,
        ModelRetryMiddleware,
        ExplainModelErrors,
    ]
    assert [type(each) for each in reliability(ModelSettings(retries=0))] == [ExplainModelErrors]


def scripted(name, *turns):
    return ScriptedChatModel(script=turns, metadata={NAME_KEY: name})


def ask(model, *fallback, settings=FAST):
    graph = create_agent(model, middleware=reliability(settings, fallback=fallback))
    return graph.invoke({"messages": [("user", "Hi")]})["messages"][-1].text


def test_two_passing_errors_are_survived():
    model = scripted("a:b", fails(Answered(503)), fails(TimeoutError()), says("Hello."))
    assert ask(model) == "Hello."
    model.assert_done()


async def test_they_are_survived_in_async_too():
    model = scripted("a:b", fails(Answered(429)), says("Hello."))
    graph = create_agent(model, middleware=reliability(FAST))
    state = await graph.ainvoke({"messages": [("user", "Hi")]})
    assert state["messages"][-1].text == "Hello."


def test_a_bad_key_is_tried_once_and_explained():
    model = scripted("openai:x", fails(Answered(401)))
    with pytest.raises(ModelUnavailable, match="openai:x rejected the API key"):
        ask(model)
    model.assert_done()


def test_retries_end_with_a_sentence_about_the_last_failure():
    model = scripted("openai:x", *[fails(Answered(503))] * 3)
    with pytest.raises(UpstreamError, match="openai:x failed with status 503") as error:
        ask(model)
    assert isinstance(error.value.__cause__, Answered)
    model.assert_done()


def test_each_model_of_the_chain_gets_its_retries_and_the_last_one_is_named():
    first = scripted("openai:a", *[fails(Answered(503))] * 3)
    second = scripted("ollama:b", fails(Answered(401)))
    third = scripted("ollama:c", *[fails(ConnectionError())] * 3)
    with pytest.raises(ModelUnavailable, match="ollama:c is unreachable"):
        ask(first, second, third)
    for model in (first, second, third):
        model.assert_done()


def test_the_first_fallback_that_answers_ends_the_chain():
    first = scripted("openai:a", fails(Answered(401)))
    second = scripted("ollama:b", fails(Answered(500)), says("Here I am."))
    third = scripted("ollama:c")
    assert ask(first, second, third) == "Here I am."
    for model in (first, second, third):
        model.assert_done()


def test_a_context_that_is_too_long_reaches_who_can_summarise_it():
    with pytest.raises(ContextOverflowError):
        ask(scripted("openai:a", fails(TooLong())))
