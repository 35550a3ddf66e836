"""Builds the image's root file system by the Containerfile's steps, without a container runtime.

Each stage is an overlay over this machine's root, with this machine's Python in the place of the
base image's. What this machine holds of the project is hidden, so that a stage sees only what was
copied into it. It needs root and a mount namespace of its own, with which all mounts end:
`make image-root`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from containerfile import Stage, Step, read_stages

ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.base_prefix)
HIDDEN = ("/work", "/root", "/home", "/data", "/tmp")
DEVICES = ("null", "zero", "full", "random", "urandom")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
ENSURE_PIP = ["python3", "-m", "ensurepip", "--default-pip"]
REGISTRIES = [Path("/root/.config/pip"), Path("/root/.config/uv")]
"""Where this machine's packages come from; the base image's user has the usual registries."""
KEPT = ("PATH", "PIP_", "UV_", "NPM_", "npm_", "SSL_", "HTTP", "http", "LANG")
"""Variables of this machine that a step may see."""


class Image:
    """The stages of an image, built one after the other in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        self.command: list[str] = []
        self.user = "0:0"
        self._roots: dict[str, Path] = {}

    @property
    def root(self) -> Path:
        """The root of the last stage."""
        return self._roots["final"]

    def build(self, path: Path) -> None:
        """Run every step of every stage."""
        for stage in read_stages(path):
            self._begin(stage)
            folder = Path("/")
            for step in stage.steps:
                sys.stderr.write(f"{stage.name}: {step.kind} {step.text[:90]}\n")
                folder = self._take(stage, step, folder)

    def size(self) -> int:
        """The bytes that the last stage added, as `du` counts them."""
        layer = self.folder / "final" / "layer"
        return int(subprocess.check_output(["du", "-sb", layer]).split()[0])

    def seal(self, data: Path) -> None:
        """Make the root read-only, but for `/data` and `/tmp`, as the deployments do."""
        data.mkdir(exist_ok=True)
        os.chown(data, *map(int, self.user.split(":")))
        mount("--bind", str(data), str(self.root / "data"))
        mount("-o", "remount,ro,bind", str(self.root))

    @contextmanager
    def running(self, *words: str, log: Path, **variables: str) -> Iterator[None]:
        """Start the entry point as the image's user; ended with SIGTERM."""
        environment = {**self.environment, **variables}
        with log.open("w") as output:
            process = subprocess.Popen(
                self._inside(words), env=environment, stdout=output, stderr=output
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)

    def run(self, *words: str, **variables: str) -> str:
        """Run the entry point to its end, and return what it printed."""
        return subprocess.run(
            self._inside(words),
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    def _inside(self, words: tuple[str, ...]) -> list[str]:
        return ["chroot", f"--userspec={self.user}", str(self.root), *self.command, *words]

    def _begin(self, stage: Stage) -> None:
        root = self.folder / stage.name / "root"
        overlay(Path("/"), self.folder / stage.name / "layer", root)
        for hidden in HIDDEN:
            (root / hidden[1:]).mkdir(exist_ok=True)
            mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / hidden[1:]))
        mount("-t", "proc", "proc", str(root / "proc"))
        mount("-t", "tmpfs", "tmpfs", str(root / "dev"))
        for device in DEVICES:
            (root / "dev" / device).touch()
            mount("--bind", f"/dev/{device}", str(root / "dev" / device))
        (root / "dev" / "shm").mkdir(mode=0o1777)
        (root / "dev" / "fd").symlink_to("/proc/self/fd")
        overlay(PYTHON, self.folder / stage.name / "python", root / "usr/local")
        # What this machine's Python has installed is not part of the base image; pip is.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        mount("-t", "tmpfs", "tmpfs", str(root / "usr/local/lib" / version / "site-packages"))
        for command in (["ldconfig"], ENSURE_PIP):
            subprocess.run(
                ["chroot", str(root), *command], env={"PATH": PATH}, check=True, capture_output=True
            )
        for config in filter(Path.exists, REGISTRIES):
            shutil.copytree(config, root / str(config)[1:], dirs_exist_ok=True)
        self._roots[stage.name] = root
        self.environment = {k: v for k, v in os.environ.items() if k.startswith(KEPT)}
        self.environment |= {"PATH": PATH, "HOME": "/root"}

    def _take(self, stage: Stage, step: Step, folder: Path) -> Path:
        root = self._roots[stage.name]
        match step.kind:
            case "WORKDIR":
                (root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
                return Path(step.text)
            case "ENV":
                known = self.environment
                new = {k: v.replace("$PATH", known["PATH"]) for k, v in step.variables.items()}
                self.environment = {**known, **new}
            case "RUN":
                script = f"cd {folder} && {step.text}"
                command = ["chroot", str(root), "/bin/sh", "-ec", script]
                subprocess.run(command, env=self.environment, check=True)
            case "COPY":
                self._copy(root, step.words, folder)
            case "USER":
                self.user = step.text
            case "ENTRYPOINT":
                self.command = step.words
        return folder

    def _copy(self, root: Path, words: list[str], folder: Path) -> None:
        origin = self.folder / "context"
        if words[0].startswith("--from="):
            origin = self._roots[words.pop(0).removeprefix("--from=")]
        *sources, place = words
        target = root / str(folder / place).lstrip("/")
        for source in sources:
            found = origin / source.lstrip("/")
            if found.is_dir():
                shutil.copytree(found, target, dirs_exist_ok=True, symlinks=True)
                continue
            into = target / found.name if place.endswith("/") else target
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found, into)


def overlay(lower: Path, upper: Path, root: Path) -> None:
    """Mount a writable layer over a folder."""
    work = upper.with_name(f"{upper.name}-work")
    for made in (upper, work, root):
        made.mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount("-t", "overlay", "-o", layers, "overlay", str(root))


def mount(*arguments: str) -> None:
    """Mount, in the namespace of this process."""
    subprocess.run(["mount", *arguments], check=True)


def copy_context(folder: Path) -> None:
    """The files that git knows, which is all that a fresh clone has."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
