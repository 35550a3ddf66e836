"""One plain install of the wheel for every test here: a fresh environment with nothing but it."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORGE = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "acme/sphere"}
"""What a workflow says about itself; the wheel is built as a release is."""
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def pytest_configure(config):
    config.addinivalue_line("markers", "first_minute: installs the wheel in a fresh environment")


@dataclass(frozen=True, kw_only=True)
class PlainInstall:
    """`pip install bathysphere`, without any extra."""

    folder: Path
    wheel: Path
    seconds: float

    @property
    def command(self) -> str:
        return str(self.folder / "venv" / "bin" / "bathysphere")

    def environment(self, home: Path, **variables: str) -> dict[str, str]:
        """Nothing that names a model, a service or this checkout."""
        home.mkdir(exist_ok=True)
        return {**_clean(), "HOME": str(home), **variables}

    def run(self, *args: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.command, *args],
            cwd=cwd,
            env=self.environment(cwd / "home", **variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="session")
def plain_install(shared_folder) -> PlainInstall:
    assert UV, "uv is needed to make the fresh environment"
    folder, seconds = shared_folder("plain", _install)
    [wheel] = (folder / "dist").glob("*.whl")
    return PlainInstall(folder=folder, wheel=wheel, seconds=seconds)


def _install(folder: Path) -> float:
    """Build the wheel, and install it in a new environment; returns how long the latter took."""
    build = [UV, "build", "--wheel", "--out-dir", str(folder / "dist"), str(ROOT)]
    environment = {**os.environ, **FORGE}
    built = subprocess.run(build, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = (folder / "dist").glob("*.whl")
    began = time.monotonic()
    make = [UV, "venv", "--python", sys.executable, str(folder / "venv")]
    subprocess.run(make, check=True, env=_clean(), capture_output=True)
    python = str(folder / "venv" / "bin" / "python")
    install = [UV, "pip", "install", "--python", python, str(wheel)]
    subprocess.run(install, check=True, env=_clean(), cwd=folder, capture_output=True)
    return time.monotonic() - began


def _clean() -> dict[str, str]:
    ours = ("BATHYSPHERE_", "OLLAMA", "LM_STUDIO", "OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "PG")
    unwanted = ("VIRTUAL_ENV", "PYTHONPATH", "DEEPAGENTS_MODEL_PROVIDER", "XDG_DATA_HOME")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours) and k not in unwanted}
    # uv's cache stays where it is; the person's data folder is a new one.
    cache = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))
    return {**kept, "UV_CACHE_DIR": cache}
