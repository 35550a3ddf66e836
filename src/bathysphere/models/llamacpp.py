"""`llamacpp:FILE`: a GGUF file on this machine, served inside this process by llama.cpp.

The server listens on a free loopback port and requires a random key: otherwise any web page open on
the same machine could use it. A process runs one server per file.
"""

import atexit
import hashlib
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from bathysphere.core.errors import ModelUnavailable, missing_extra
from bathysphere.models.check import ModelCheck, Probe, installed
from bathysphere.models.names import LLAMACPP, ModelName, parse
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_QUIET = -1
_BATCH_TOKENS = 512
"""Tokens of a prompt that are read between two reports of the progress."""


class LlamaServer:
    """A llama.cpp server for one file; stops with `close` or when this object is collected."""

    def __init__(self, path: Path, *, context_tokens: int, threads: int) -> None:
        import xllamacpp

        self.key = SecretStr(secrets.token_urlsafe(24))
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_tokens
        params.n_parallel = 1
        params.n_batch = _BATCH_TOKENS
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.use_jinja = True
        params.sse_ping_interval = 1
        params.verbosity = _QUIET
        params.api_keys = [self.key.get_secret_value()]
        try:
            self._server: Any = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelUnavailable(
                f"llama.cpp cannot load {path}",
                hint="the file may be truncated, or not supported by this version of llama.cpp",
            ) from error
        self.url = f"{self._server.listening_address}/v1"

    def close(self) -> None:
        """Stop the server and free its memory."""
        self._server = None


class LlamaServers:
    """The servers of this process: each file is loaded once, however many roles use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[Path, LlamaServer] = {}

    def serve(self, path: Path, settings: ModelSettings) -> LlamaServer:
        """Return the server of `path`, starting it at the first call."""
        path = path.resolve()
        with self._lock:
            if not self._servers:
                atexit.register(self.close)
            if path not in self._servers:
                self._servers[path] = LlamaServer(
                    path,
                    context_tokens=settings.context_tokens,
                    threads=settings.threads or _free_cores(),
                )
            return self._servers[path]

    def close(self) -> None:
        """Stop all servers."""
        with self._lock:
            for server in self._servers.values():
                server.close()
            self._servers.clear()


SERVERS = LlamaServers()


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the client, starting the file's server if it is not running."""
    path = _usable_file(name.name, settings)
    from bathysphere.models.llamacpp_chat import ChatLlamaCpp

    server = SERVERS.serve(path, settings)
    return ChatLlamaCpp(
        model=path.stem,
        base_url=server.url,
        api_key=server.key,
        temperature=settings.temperature,
        timeout=settings.timeout_s,
        max_retries=retries,
        # Always streamed: the time limit is for the next token, while a whole answer can take a
        # processor minutes.
        streaming=True,
        stream_usage=True,
        use_responses_api=False,
        extra_body={"return_progress": True},
    )


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Check that the file exists; it is not loaded."""
    del probe
    path = _usable_file(name.name, settings)
    return ModelCheck(name=str(name), usable=True, detail=f"found {path}")


async def found(settings: ModelSettings, probe: Probe) -> list[str]:
    """List the GGUF files in the models folder."""
    del probe
    return sorted(path.stem for path in settings.folder.glob(f"*{SUFFIX}"))


def file_hash(name: str, settings: ModelSettings) -> str | None:
    """The SHA-256 hash of a model's GGUF file; None for a model of another provider.

    Raises:
        ModelUnavailable: The file does not exist.
    """
    parsed = parse(name)
    if parsed.provider != LLAMACPP:
        return None
    with _find(parsed.name, settings.folder).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _usable_file(name: str, settings: ModelSettings) -> Path:
    for package in ("xllamacpp", "langchain_openai"):
        if not installed(package):
            raise missing_extra("A `llamacpp:` model", "local")
    path = _find(name, settings.folder)
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ModelUnavailable(
                f"{path} is not a GGUF file", hint="use a model in llama.cpp's GGUF format"
            )
    return path


def _find(name: str, folder: Path) -> Path:
    for path in (Path(name).expanduser(), folder / name, folder / f"{name}{SUFFIX}"):
        if path.is_file():
            return path
    raise ModelUnavailable(
        f"GGUF file not found: {name} (also looked in {folder})",
        hint="run `bathysphere models pull` to download a small one, or pass the path of a file",
    )


def _free_cores() -> int:
    """All cores but one: llama.cpp's threads busy-wait and starve on a fully loaded machine."""
    return max(1, (os.cpu_count() or 1) - 1)
