"""Models for real: real clients on real wires, real downloads, a real small model."""

import hashlib
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import StateGraph

from bathysphere.core.errors import ConfigError, ModelUnavailable, UpstreamError
from bathysphere.middleware.reliability import reliability
from bathysphere.models.check import Probe
from bathysphere.models.download import fetch
from bathysphere.models.downloads import downloads
from bathysphere.models.resolve import check, resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ModelServer, calls, hangs, refuses, says
from bathysphere.testing.small_model import SHA256
from bathysphere.testing.small_model import fetch as small_model_file

# ── hosted and local servers, over their wires ──

WIRES = {
    "anthropic:claude-sonnet-4-6": "/v1/messages",
    "openai:gpt-5.5": "/v1/chat/completions",
    "lm-studio:qwen/qwen3-4b": "/v1/chat/completions",
    "ollama:qwen3": "/api/chat",
}
every_wire = pytest.mark.parametrize("name", WIRES)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(scope="module")
def running():
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(running):
    running.play([])
    return running


@pytest.fixture
def settings(server):
    return settings_for(server.url)


def settings_for(url, **changes):
    return ModelSettings(
        anthropic_url=url,
        anthropic_api_key="key-a",
        openai_url=f"{url}/v1",
        openai_api_key="key-o",
        lm_studio_url=f"{url}/v1",
        ollama_url=url,
        **{"retry_delay_s": 0, "timeout_s": 10, **changes},
    )


def agent(name, settings, *, fallback=()):
    chain = tuple(resolve(each, settings) for each in fallback)
    return create_agent(
        resolve(name, settings), [add], middleware=reliability(settings, fallback=chain)
    )


async def ask(graph, text="Hi"):
    state = await graph.ainvoke({"messages": [("user", text)]})
    return state["messages"][-1].text


@pytest.mark.node
@every_wire
async def test_a_resolved_model_speaks_its_providers_protocol(server, settings, name):
    server.play([calls("add", a=2, b=3), says("It is five.")])
    assert await ask(agent(name, settings), "What is 2 + 3?") == "It is five."
    server.assert_done()
    assert {request.path for request in server.requests()} == {WIRES[name]}
    assert server.requests()[0].body["model"] == name.partition(":")[2]


@pytest.mark.node
@every_wire
async def test_passing_refusals_are_tried_again_and_counted(server, settings, name):
    server.play([refuses(503), refuses(429), says("Here.")])
    assert await ask(agent(name, settings)) == "Here."
    server.assert_done()


@pytest.mark.node
@every_wire
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, ModelUnavailable, "rejected the API key"),
        (404, ModelUnavailable, "is unknown"),
        (400, UpstreamError, "rejected the request"),
    ],
)
async def test_a_lasting_refusal_is_asked_once_and_is_one_sentence(
    server, settings, name, status, kind, words
):
    server.play([refuses(status)])
    with pytest.raises(kind, match=words) as error:
        await ask(agent(name, settings))
    assert error.value.message.startswith(name)
    server.assert_done()


@pytest.mark.node
@every_wire
async def test_a_model_that_is_too_slow_is_given_up(server, name):
    server.play([hangs(5)])
    settings = settings_for(server.url, timeout_s=0.5, retries=0)
    with pytest.raises(UpstreamError, match="timed out"):
        await ask(agent(name, settings))


@every_wire
async def test_a_server_that_is_not_there_is_one_sentence(name):
    settings = settings_for("http://127.0.0.1:9", retries=1)
    with pytest.raises(ModelUnavailable, match=f"^{name} is unreachable"):
        await ask(agent(name, settings))


@pytest.mark.node
async def test_the_chain_goes_on_to_another_provider(server, settings):
    server.play([refuses(401), *[refuses(500)] * 3, says("Third time lucky.")])
    graph = agent("anthropic:c", settings, fallback=["openai:gpt-5.5", "ollama:qwen3"])
    assert await ask(graph) == "Third time lucky."
    server.assert_done()
    paths = [request.path for request in server.requests()]
    assert paths == ["/v1/messages", *["/v1/chat/completions"] * 3, "/api/chat"]


async def test_checks_of_servers_that_are_not_there_are_quick():
    settings = settings_for("http://127.0.0.1:9")
    for name in ("ollama:q", "lm-studio:q"):
        result = await check(name, settings, probe=Probe(timeout_s=1))
        assert not result.usable
        assert "is not reachable" in result.detail


# ── pull, from a server on loopback ──

CONTENT = bytes(range(256)) * 4096  # 1 MiB
HASH = hashlib.sha256(CONTENT).hexdigest()


class Shelf(ThreadingHTTPServer):
    """Serves `CONTENT`, all of it or what a range asks for, cut where the test says."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ShelfHandler)
        self.ranges = []
        self.cut_after = None
        self.knows_ranges = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/tiny.gguf"


class ShelfHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/tiny.gguf":
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        start = start if self.server.knows_ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.server.cut_after])

    def log_message(self, *args):
        pass


@pytest.fixture
def shelf():
    server = Shelf()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_is_fetched_checked_and_named(shelf, tmp_path):
    seen = []
    target = tmp_path / "models" / "tiny.gguf"
    fetched = fetch(
        shelf.url, target, sha256=HASH.upper(), progress=lambda *count: seen.append(count)
    )
    assert fetched
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert len(seen) > 2


def test_a_file_that_is_there_is_not_fetched_again(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    target.write_bytes(CONTENT)
    assert not fetch(shelf.url, target, sha256=HASH)
    assert shelf.ranges == []


def test_a_file_with_the_wrong_hash_is_removed_and_told(shelf, tmp_path):
    with pytest.raises(UpstreamError, match="Hash mismatch") as error:
        fetch(shelf.url, tmp_path / "tiny.gguf", sha256="0" * 64)
    assert HASH in error.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_does_not_replace_the_one_that_was_there(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    target.write_bytes(b"older")
    with pytest.raises(UpstreamError):
        fetch(shelf.url, target, sha256="0" * 64)
    assert target.read_bytes() == b"older"


def test_a_cut_connection_is_told_and_the_next_try_goes_on(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    shelf.cut_after = 300_000
    with pytest.raises(UpstreamError, match="Lost the connection") as error:
        fetch(shelf.url, target, sha256=HASH)
    assert "resume the download" in error.value.hint
    assert not target.exists()
    (part,) = tmp_path.iterdir()
    kept = part.stat().st_size
    assert 0 < kept <= 300_000

    shelf.cut_after = None
    seen = []
    fetch(shelf.url, target, sha256=HASH, progress=lambda *count: seen.append(count))
    assert shelf.ranges == [None, f"bytes={kept}-"]
    assert seen[0] == (kept, len(CONTENT))
    assert target.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [target]


def test_a_server_without_ranges_starts_over(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    shelf.cut_after = 300_000
    with pytest.raises(UpstreamError):
        fetch(shelf.url, target, sha256=HASH)
    shelf.cut_after, shelf.knows_ranges = None, False
    fetch(shelf.url, target, sha256=HASH)
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_already_whole_needs_only_its_name(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    target.with_name(f"tiny.gguf.{HASH[:12]}.part").write_bytes(CONTENT)
    fetch(shelf.url, target, sha256=HASH)
    assert target.read_bytes() == CONTENT


def test_addresses_that_give_nothing_are_one_sentence(shelf, tmp_path):
    target = tmp_path / "tiny.gguf"
    with pytest.raises(UpstreamError, match="returned status 404"):
        fetch(shelf.url.replace("tiny", "other"), target, sha256=HASH)
    with pytest.raises(UpstreamError, match=r"Cannot connect to 127\.0\.0\.1"):
        fetch("http://127.0.0.1:9/x", target, sha256=HASH)
    for url in ("ftp://127.0.0.1/x", "127.0.0.1/x", "http://127.0.0.1:port/x"):
        with pytest.raises(ConfigError, match="Invalid URL"):
            fetch(url, target, sha256=HASH)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_sentence(shelf, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="Cannot write") as error:
        fetch(shelf.url, tmp_path / "file" / "tiny.gguf", sha256=HASH)
    assert "BATHYSPHERE_MODEL_FOLDER" in error.value.hint


# ── llama.cpp in this process ──


@pytest.fixture(scope="module")
def small():
    path = small_model_file()
    return ModelSettings(folder=path.parent, threads=1, context_tokens=2048, temperature=0), path


def test_the_list_of_downloads_has_the_hash_of_the_small_model():
    assert downloads(ModelSettings())["smollm2-135m"].sha256 == SHA256


@pytest.mark.small_model
async def test_a_gguf_file_answers_streams_and_counts_tokens(small):
    settings, path = small
    model = resolve(f"llamacpp:{path.stem}", settings)
    chunks = [chunk async for chunk in model.astream("Say hello.", max_tokens=12)]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert len(chunks) > 3
    assert whole.text.strip()
    assert whole.usage_metadata["output_tokens"] > 0


@pytest.mark.small_model
@pytest.mark.timeout(180)
@pytest.mark.long(
    "tests/integration/test_small_model.py::test_it_streams_the_same_answer_in_pieces"
)
async def test_a_slow_answer_is_waited_for_while_its_words_arrive(small):
    settings, path = small
    model = resolve(f"llamacpp:{path.stem}", settings.model_copy(update={"timeout_s": 2}))
    begun = time.monotonic()
    answer = await model.ainvoke(
        "Tell a long story.", max_tokens=200, extra_body={"ignore_eos": True}
    )
    assert time.monotonic() - begun > 2
    assert answer.usage_metadata["output_tokens"] == 200


@pytest.mark.small_model
def test_a_file_is_loaded_once_by_whatever_name(small):
    settings, path = small
    by_name = resolve(f"llamacpp:{path.stem}", settings)
    by_path = resolve(f"llamacpp:{path}", settings)
    assert by_name.openai_api_base == by_path.openai_api_base


@pytest.mark.small_model
def test_no_other_program_may_use_the_server(small):
    settings, path = small
    url = resolve(f"llamacpp:{path}", settings).openai_api_base
    assert url.startswith("http://127.0.0.1:")
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    assert httpx.post(f"{url}/chat/completions", json=body).status_code == 401


@pytest.mark.small_model
def test_a_broken_file_is_one_sentence(small, tmp_path):
    settings, path = small
    with path.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(100_000))
    with pytest.raises(ModelUnavailable, match="cannot load") as error:
        resolve(f"llamacpp:{tmp_path / 'cut.gguf'}", settings)
    assert error.value.hint


LEAVE_IN_THE_MIDDLE = """
import sys, threading, time
from bathysphere.models.resolve import resolve
from bathysphere.models.settings import ModelSettings
model = resolve("llamacpp:" + sys.argv[1], ModelSettings(threads=1, context_tokens=2048))
begun = threading.Event()
def listen():
    try:
        for chunk in model.stream("Tell a very long story.", max_tokens=1500):
            begun.set()
    except BaseException:
        pass
threading.Thread(target=listen, daemon=True).start()
assert begun.wait(30)
print(time.monotonic())
"""


@pytest.mark.long(
    "tests/integration/test_small_model.py::test_it_streams_the_same_answer_in_pieces"
)
@pytest.mark.small_model
def test_a_process_that_leaves_in_the_middle_of_an_answer_leaves_cleanly(small, within):
    _, path = small
    done = subprocess.run(
        [sys.executable, "-c", LEAVE_IN_THE_MIDDLE, str(path)],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    within(time.monotonic() - float(done.stdout), 10)


@pytest.mark.small_model
@pytest.mark.timeout(180)
@pytest.mark.long("tests/integration/test_small_model.py::test_it_answers_and_counts_its_tokens")
async def test_a_run_tells_how_much_of_its_prompt_the_model_has_read(small):
    settings, path = small
    model = resolve(f"llamacpp:{path.stem}", settings)

    async def node(state):
        words = "The log of the day: a calm sea. " * 90
        chunks = [chunk async for chunk in model.astream(words, max_tokens=4)]
        return {"text": "".join(chunk.text for chunk in chunks)}

    graph = StateGraph(dict)
    graph.add_node("node", node)
    graph.set_entry_point("node")
    told, text = [], ""
    async for mode, data in graph.compile().astream({}, stream_mode=["custom", "updates"]):
        if mode == "custom":
            told.append(data)
        else:
            text = data["node"]["text"]
    assert {event["name"] for event in told} == {"prompt_progress"}
    reads = [event["payload"]["read"] for event in told]
    total = told[0]["payload"]["total"]
    assert reads[0] == told[0]["payload"]["cached"]
    assert any(reads[0] < read < total for read in reads)  # said while it still reads
    assert reads == sorted(reads)
    assert told[-1]["payload"]["read"] == total
    assert text.strip()
