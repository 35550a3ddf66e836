"""Install the mint's environment, once per version of its lock file."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bathysphere.core.errors import ConfigError
from bathysphere.testing.small_model import models_folder

LOCK = Path(__file__).with_name("requirements.lock")
_SECONDS = 600.0


def install(folder: Path | None = None) -> Path:
    """The mint's Python, installed if missing."""
    folder = folder or models_folder().parent / "mint"
    name = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    home = folder / f"{name}-py{sys.version_info[0]}.{sys.version_info[1]}"
    if not home.is_dir():
        # Install under another name first, so that an existing environment is complete.
        part = folder / f"part-{os.getpid()}"
        part.parent.mkdir(parents=True, exist_ok=True)
        try:
            _uv("venv", "--relocatable", "--python", sys.executable, str(part))
            to = ("--python", str(part / "bin" / "python"))
            options = ("--require-hashes", "--no-deps", "--compile-bytecode", "-r", str(LOCK))
            _uv("pip", "install", *to, *options)
            if not home.is_dir():
                part.rename(home)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return home / "bin" / "python"


def _uv(*arguments: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.is_file() else shutil.which("uv")
    if program is None:
        message = "Installing the test mint requires uv"
        raise ConfigError(message, hint="run `make setup`")
    command = [program, *arguments, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        message = f"uv failed to install the test mint: {done.stderr.strip()[-500:]}"
        raise ConfigError(message, hint="check that uv can reach a package index")
