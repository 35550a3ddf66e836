"""Shared rig of the engine's benchmarks: a database, a server process, a client.

`python rig.py DATABASE REDIS|- [--no-worker] [--foreign] [--keys]` is that server: `bathysphere
serve` with the graphs below in place of the agents, or with those of `foreign_project/`; with
`--keys` for callers with API keys, at any rate. It prints its address when it is ready. The client
is bare HTTP/1.1: it shares the machine with the measured process, so it must cost little.
"""

import asyncio
import contextlib
import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psycopg
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from redis import Redis

SERVER = os.environ.get(
    "BATHYSPHERE_TEST_DATABASE_URL", "postgresql://root@127.0.0.1:5432/postgres"
)
REDIS = os.environ.get("BATHYSPHERE_TEST_REDIS_URL", "redis://127.0.0.1:6379")
MODES = ["values", "updates", "messages"]
HELLO = {"messages": [{"type": "human", "content": "hello"}]}
_TICK = os.sysconf("SC_CLK_TCK")


# ── graphs ──


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class StepModel(BaseChatModel):
    """Calls the tool once, then answers; stateless and without delay."""

    @property
    def _llm_type(self) -> str:
        return "steps"

    def bind_tools(self, tools, **_: Any):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_: Any) -> ChatResult:
        call = ToolCall(name="add", args={"a": 1, "b": 2}, id="call-1")
        is_last = messages[-1].type == "tool"
        message = AIMessage("the sum is 3") if is_last else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages, stop=None, run_manager=None, **_: Any) -> ChatResult:
        return self._generate(messages)


class TokenModel(BaseChatModel):
    """Streams as many tokens as the message says, at the rate it says: `2000 200`."""

    @property
    def _llm_type(self) -> str:
        return "tokens"

    def _generate(self, messages, stop=None, run_manager=None, **_: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, messages, stop=None, run_manager=None, **_: Any):
        count, rate = map(int, messages[-1].text.split())
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(count):
            # Scheduled by the clock: a slow contender must not get fewer wake-ups.
            if (early := began + number / rate - loop.time()) > 0:
                await asyncio.sleep(early)
            yield ChatGenerationChunk(message=AIMessageChunk("token "))


def graphs() -> dict[str, Any]:
    return {
        "steps": lambda: create_agent(StepModel(), [add]),
        "tokens": lambda: create_agent(TokenModel()),
    }


# ── the server's process ──


def foreign_graphs() -> Any:
    """The graphs of `foreign_project/`, loaded like those of `bathysphere serve`."""
    from bathysphere.cli.targets import find_selection
    from bathysphere.models.settings import ModelSettings
    from bathysphere.registry.loading import load_agents
    from bathysphere.server.process.assembly import graphs_of

    project = find_selection([str(Path(__file__).parent / "foreign_project" / "langgraph.json")])
    return graphs_of(ModelSettings(), load_agents(project, is_only=True))


def serve(
    database: str, redis: str | None, *, works: bool, is_foreign: bool, has_keys: bool
) -> None:
    from bathysphere.cli.serve import prepare, run_loop
    from bathysphere.engine.graphs import Graphs
    from bathysphere.server.process import lifecycle as serving
    from bathysphere.server.process.settings import ServerSettings

    raise_open_files()
    limits: dict[str, Any] = {"auth": ("api-key",), "rate_per_second": 0} if has_keys else {}
    settings = ServerSettings(
        database_url=database,
        redis_url=redis,
        port=0,
        log_format="json",
        worker_concurrency=32,
        **limits,
    )
    prepare(settings)

    def on_ready(ready: serving.Ready) -> None:
        print(ready.url, flush=True)

    known = foreign_graphs() if is_foreign else Graphs(graphs())
    run_loop(serving.serve(settings, graphs=known, with_worker=works, on_ready=on_ready))


class Served:
    """A server in its own process."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.pid = process.pid
        self.port = int(url.rpartition(":")[2])

    def cpu(self) -> float:
        """CPU seconds used by all threads."""
        return cpu_of(self.pid)

    def memory(self) -> int:
        """Resident memory in bytes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def served(
    database: str,
    redis: str | None,
    *,
    works: bool = True,
    is_foreign: bool = False,
    has_keys: bool = False,
) -> Iterator[Served]:
    """Start a server, and stop it at the end."""
    command = [sys.executable, *_profiling(), __file__, database, redis or "-"]
    command += [] if works else ["--no-worker"]
    command += ["--foreign"] if is_foreign else []
    command += ["--keys"] if has_keys else []
    log = os.environ.get("BENCH_LOG")  # file that keeps the server's log
    with Path(log).open("w+") if log else tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            url = process.stdout.readline().strip()
            if not url:
                errors.seek(0)
                sys.exit(f"The server did not start:\n{errors.read()[-2000:]}")
            yield Served(process, url)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


def _profiling() -> list[str]:
    # BENCH_PROFILE=file writes a cProfile of the server.
    path = os.environ.get("BENCH_PROFILE")
    return ["-m", "cProfile", "-o", path] if path else []


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def allow_one_user_all_streams() -> None:
    """Turn the limits of open streams off for servers that are started from now on."""
    os.environ["BATHYSPHERE_MAX_OPEN_PER_USER"] = "0"
    os.environ["BATHYSPHERE_MAX_OPEN_PER_TENANT"] = "0"


def raise_open_files() -> int:
    """Raise the limit of open files to its maximum, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


# ── the database ──


def stop_cleanly() -> None:
    """Handle SIGTERM like Ctrl-C, so that databases are dropped and the server is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextlib.contextmanager
def own_database() -> Iterator[str]:
    """Create a database, and drop it at the end."""
    stop_cleanly()
    name = f"bathysphere_bench_{secrets.token_hex(4)}"
    with psycopg.connect(SERVER, autocommit=True) as server:
        server.execute(f"create database {name}")
        try:
            yield SERVER.rpartition("/")[0] + f"/{name}"
        finally:
            server.execute(f"drop database {name} with (force)")


@contextlib.contextmanager
def own_redis() -> Iterator[str]:
    """Claim the first unused database of Redis, and flush it at the end."""
    for number in range(15, 0, -1):
        url = f"{REDIS.rstrip('/')}/{number}"
        with Redis.from_url(url) as redis:
            if redis.set("bathysphere:bench", os.getpid(), nx=True) and redis.dbsize() == 1:
                try:
                    yield url
                finally:
                    redis.flushdb()
                return
            if redis.get("bathysphere:bench") == str(os.getpid()).encode():
                redis.delete("bathysphere:bench")
    sys.exit("No empty Redis database is available")


def backends_cpu(database: str) -> float:
    """CPU seconds used by PostgreSQL's live backends for this database."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        ).fetchall()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return sum(cpu_of(row[0]) for row in rows)
    return 0.0


# ── the client ──


class Client:
    """One keep-alive connection to the server."""

    def __init__(self, port: int, *, source: str = "127.0.0.1") -> None:
        self._port = port
        self._source = source
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> "Client":
        await self._connect()
        return self

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port, local_addr=(self._source, 0), limit=2**22
        )

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def post(self, path: str, body: Any) -> Any:
        """Send JSON and return the JSON response."""
        parts = [part async for part in self.stream(path, body)]
        return json.loads(b"".join(parts))

    async def stream(self, path: str, body: Any) -> AsyncIterator[bytes]:
        """Send JSON and yield the response as it arrives."""
        if self._reader.at_eof():  # the server closes idle connections after some seconds
            self._writer.close()
            await self._connect()
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if not answer.startswith(b"http/1.1 2"):
            raise RuntimeError(f"{path}: {answer.splitlines()[0].decode()}")
        if b"transfer-encoding: chunked" not in answer:
            length = int(answer.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            yield await self._reader.readexactly(length)
            return
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)


if __name__ == "__main__":
    address, events, *flags = sys.argv[1:]
    serve(
        address,
        None if events == "-" else events,
        works="--no-worker" not in flags,
        is_foreign="--foreign" in flags,
        has_keys="--keys" in flags,
    )
