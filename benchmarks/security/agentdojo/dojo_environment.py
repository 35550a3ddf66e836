"""AgentDojo's own environment, apart from the locked one.

`install` puts AgentDojo and the few packages that it needs and we do not have into a folder under
`.cache/agentdojo`, with hashes. `activate` appends that folder to the path, so that packages of
the main environment win.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
CACHE = ROOT / ".cache" / "agentdojo"
LOCK = Path(__file__).with_name("requirements.lock")
_SECONDS = 600.0
_EMPTY_FUNCTION_NAME = "<empty-function-name>"


def install() -> Path:
    """The folder of AgentDojo's packages, installed if missing."""
    name = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    home = CACHE / f"{name}-py{sys.version_info[0]}.{sys.version_info[1]}"
    if not home.is_dir():
        # Install under another name first, so that an existing folder is complete.
        part = CACHE / f"part-{os.getpid()}"
        part.parent.mkdir(parents=True, exist_ok=True)
        try:
            _install_to(part)
            if not home.is_dir():
                part.rename(home)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return home


def activate() -> None:
    """Make AgentDojo importable, without the clients of model providers.

    `agentdojo.agent_pipeline` imports five of them when it is imported. Its modules that the
    suites need use none, except for one constant in the module for Google's.
    """
    folder = str(install())
    if folder not in sys.path:
        sys.path.append(folder)
    if "agentdojo.agent_pipeline" in sys.modules:
        return
    found = find_spec("agentdojo")
    if found is None or not found.submodule_search_locations:
        message = f"AgentDojo is not installed in {folder}"
        raise ImportError(message)
    pipeline = ModuleType("agentdojo.agent_pipeline")
    pipeline.__path__ = [str(Path(found.submodule_search_locations[0]) / "agent_pipeline")]
    google = ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    google.EMPTY_FUNCTION_NAME = _EMPTY_FUNCTION_NAME
    sys.modules[pipeline.__name__] = pipeline
    sys.modules[google.__name__] = google
    # An environment has hundreds of addresses, the same in each case.
    import email_validator

    email_validator.validate_email = lru_cache(maxsize=None)(email_validator.validate_email)


def _install_to(folder: Path) -> None:
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.is_file() else shutil.which("uv")
    if program is None:
        message = "Installing AgentDojo requires uv; run `make setup`"
        raise RuntimeError(message)
    command = [program, "pip", "install", "--quiet", "--python", sys.executable]
    command += ["--target", str(folder), "--no-deps", "--require-hashes", "-r", str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        message = f"uv failed to install AgentDojo: {done.stderr.strip()[-500:]}"
        raise RuntimeError(message)


if __name__ == "__main__":
    print(install())
