"""Output is limited to what was paid for, and input is never counted too low."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from bathysphere.models.tokens import (
    TOKENS_PER_IMAGE,
    count_input,
    limit_output,
    limit_settings,
)
from bathysphere.testing import ScriptedChatModel, says

MODELS = {
    "openai": (
        lambda **o: ChatOpenAI(model="m", api_key="k", use_responses_api=False, **o),
        lambda model: model._get_request_payload("hi")["max_completion_tokens"],
        "max_tokens",
    ),
    "openai responses": (
        lambda **o: ChatOpenAI(model="m", api_key="k", use_responses_api=True, **o),
        lambda model: model._get_request_payload("hi")["max_output_tokens"],
        "max_tokens",
    ),
    "anthropic": (
        lambda **o: ChatAnthropic(model_name="claude-sonnet-4-6", api_key="k", **o),
        lambda model: model._get_request_payload("hi")["max_tokens"],
        "max_tokens",
    ),
    "google": (
        lambda **o: ChatGoogleGenerativeAI(model="gemini-3.5-flash", api_key="k", **o),
        lambda model: model._prepare_params(None).max_output_tokens,
        "max_output_tokens",
    ),
    "ollama": (
        lambda **o: ChatOllama(model="m", **o),
        lambda model: model._chat_params([HumanMessage("hi")])["options"]["num_predict"],
        "num_predict",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_limit_goes_over_the_wire_and_a_lower_one_stays(name):
    make, sent, field = MODELS[name]
    plain = make()
    assert sent(limit_output(plain, 777)) == 777
    assert limit_output(plain, None) is plain
    assert getattr(plain, field) != 777, "the shared model was changed"
    assert sent(limit_output(make(**{field: 100}), 777)) == 100
    assert sent(limit_output(make(**{field: 9_000}), 777)) == 777


def test_no_limit_in_ollamas_way_is_limited_too():
    make, sent, _ = MODELS["ollama"]
    assert sent(limit_output(make(num_predict=-1), 777)) == 777


def test_a_model_without_such_a_limit_is_left_as_it_is():
    model = ScriptedChatModel(script=[says("hi")])
    assert limit_output(model, 777) is model


def test_settings_of_a_call_do_not_raise_the_limit():
    given_ = {"max_tokens": 9_000, "num_predict": -1, "max_output_tokens": 5, "stop": ["x"]}
    limited = {"max_tokens": 777, "num_predict": 777, "max_output_tokens": 5, "stop": ["x"]}
    assert limit_settings(given_, 777) == limited
    assert limit_settings(given_, None) == given_


# ── counting ──

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "def f(x):\n    return x",
    "日本語のテキスト",
]


def byte_level() -> Tokenizer:
    """As GPT, Llama 3, Qwen, SmolLM have it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def byte_fallback() -> Tokenizer:
    """As Llama 2, Mistral and Gemma have it: unknown characters become their bytes."""
    names = ["<unk>", *(f"<0x{n:02X}>" for n in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {name: n for n, name in enumerate(names)}
    model = models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.ByteFallback()
    return tokenizer


TOKENIZERS = [byte_level(), byte_fallback()]


@settings(max_examples=300, deadline=None)
@given(st.text())
@example("\U0001f9d1\u200d\U0001f680" * 50)
@example("龘" * 100)
@example("xqZ}7" * 100)
def test_the_bound_is_never_below_what_a_tokenizer_counts(text):
    bound = count_input([HumanMessage(text)])
    assert all(len(each.encode(text).ids) <= bound for each in TOKENIZERS)


def test_chinese_is_not_counted_as_a_quarter():
    assert count_input([HumanMessage("日" * 34_000)]) >= 34_000


@tool
def look(what: str) -> str:
    """Look at something."""
    return what


def test_everything_that_is_sent_counts():
    def more(*parts):
        return count_input(parts) - count_input([HumanMessage("")])

    call = {"name": "look", "args": {"what": "x" * 500}, "id": "1", "type": "tool_call"}
    assert more(SystemMessage("x" * 500)) >= 500
    assert more(AIMessage("", tool_calls=[call])) >= 500
    assert more(ToolMessage("x" * 500, tool_call_id="1")) >= 500
    assert more(look) >= len("Look at something.")
    assert more({"properties": {"text": {"description": "x" * 500}}}) >= 500
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9_000}}
    assert more(HumanMessage([{"type": "text", "text": "x" * 500}, image])) in range(
        TOKENS_PER_IMAGE + 500, TOKENS_PER_IMAGE + 1_000
    )


def test_a_tokenizer_counts_exactly():
    words = count_input(
        [HumanMessage("one two three")], lambda text: list(range(len(text.split())))
    )
    assert words == count_input([HumanMessage("")]) + 3
