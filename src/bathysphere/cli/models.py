"""`bathysphere models`: list configured and local models, `pull` a small one, or `test` one."""

import argparse
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from rich.console import Console

    from bathysphere.models.catalog import Found, RoleReport, Survey
    from bathysphere.models.names import ModelName
    from bathysphere.models.settings import ModelSettings

HELP = "list configured and local models, pull a small one, or test one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `models`, `models pull` and `models test`."""
    commands = parser.add_subparsers(dest="models_command", metavar="COMMAND")
    pull = commands.add_parser("pull", help="download a model, or let Ollama or LM Studio do it")
    pull.add_argument(
        "name",
        nargs="?",
        help="a model of the catalogue, ollama:NAME, lm-studio:NAME, or the name for --url",
    )
    pull.add_argument("--url", help="download this URL (needs --sha256)")
    pull.add_argument("--sha256", metavar="HASH", help="SHA-256 hash of the file at --url")
    test = commands.add_parser("test", help="probe a model, store the result, choose its profile")
    test.add_argument("name", nargs="?", help="the model, as provider:name (default: the main one)")


def run(args: argparse.Namespace) -> int:
    """List the models, pull one or test one."""
    from rich.console import Console

    from bathysphere.models.settings import ModelSettings

    settings = ModelSettings.from_environment()
    console = Console(highlight=False, soft_wrap=True)
    if args.models_command == "pull":
        return _pull(args, settings, console)
    if args.models_command == "test":
        from bathysphere.cli.model_report import probe_and_store

        return probe_and_store(args.name, settings, console)
    return _list(settings, console)


# ── list ──


def _list(settings: "ModelSettings", console: "Console") -> int:
    import asyncio

    from bathysphere.models.catalog import survey
    from bathysphere.models.downloads import downloads
    from bathysphere.models.names import DEMO_TOUR

    result = asyncio.run(survey(settings))
    console.print("[bold]Configured[/bold]")
    width = max(len(report.check.name) for report in result.roles)
    for report in result.roles:
        _print_role(report, width, console)
    if result.roles[0].check.name != DEMO_TOUR:
        _print_profile(settings, console)
    console.print("\n[bold]Found on this machine[/bold]")
    for found in result.found:
        _print_found(found, settings, console)
    console.print("\n[bold]To pull[/bold]")
    for entry in downloads(settings).values():
        console.print(f"  {entry.model}  {entry.summary}", markup=False)
    _print_advice(result, console)
    return 0


def _print_role(report: "RoleReport", width: int, console: "Console") -> None:
    mark = "[green]ok[/green]" if report.check.usable else "[red]no[/red]"
    console.print(f"  {report.role:<10}  ", end="")
    console.print(f"{report.check.name:<{width}}  ", end="", markup=False)
    console.print(mark, end="  ")
    console.print(f"{report.check.detail} ({report.chosen_by})", markup=False)
    if report.check.hint:
        console.print(f"  {'':<10}  {'':<{width}}  fix: {report.check.hint}", markup=False)


def _print_profile(settings: "ModelSettings", console: "Console") -> None:
    from bathysphere.models.profiles import choose_profile

    choice = choose_profile(settings)
    trust = f"; use it for {choice.trust}" if choice.trust else ""
    console.print(f"  profile     {choice.profile} ({choice.chosen_by}){trust}", markup=False)


def _print_found(found: "Found", settings: "ModelSettings", console: "Console") -> None:
    if found.problem is not None:
        console.print(f"  {found.provider:<10}  {found.problem}", markup=False)
        return
    none = f"none in {settings.folder}" if found.provider == "llamacpp" else "none"
    names = ", ".join(f"{found.provider}:{name}" for name in found.names)
    console.print(f"  {found.provider:<10}  {names or none}", markup=False)


def _print_advice(result: "Survey", console: "Console") -> None:
    from bathysphere.models.downloads import SMALLEST
    from bathysphere.models.names import DEMO_TOUR

    if result.roles[0].check.name != DEMO_TOUR:
        return
    here = [
        f"{found.provider}:{name}"
        for found in result.found
        for name in found.names
        if name != SMALLEST  # it cannot talk
    ]
    console.print("\n[bold]To leave the tour[/bold]")
    for name in (*result.suggestions, *here)[:3]:
        console.print(f"  export BATHYSPHERE_MODEL_MAIN={name}", markup=False)
    if not (result.suggestions or here):
        console.print(
            "  set ANTHROPIC_API_KEY or OPENAI_API_KEY; or start Ollama or LM Studio, then"
        )
        console.print("  bathysphere models pull ollama:NAME")


# ── pull ──


class _File(NamedTuple):
    """A GGUF file to download."""

    name: str
    url: str
    sha256: str


def _pull(args: argparse.Namespace, settings: "ModelSettings", console: "Console") -> int:
    requested = _requested(args.name, args.url, args.sha256, settings)
    if not isinstance(requested, _File):
        return _pull_from(requested, settings, console)
    from bathysphere.models.download import fetch
    from bathysphere.models.llamacpp import SUFFIX

    target = settings.folder / f"{requested.name}{SUFFIX}"
    with _ProgressBar(requested.name, console) as bar:
        fetched = fetch(requested.url, target, sha256=requested.sha256, progress=bar.show)
    console.print(f"{'Saved' if fetched else 'Already downloaded'}: {target}", markup=False)
    _print_use(f"llamacpp:{requested.name}", console)
    return 0


def _pull_from(name: "ModelName", settings: "ModelSettings", console: "Console") -> int:
    """Let Ollama or LM Studio pull a model."""
    import asyncio

    from bathysphere.models.pulling import pull

    with _ProgressBar(name.name, console) as bar:
        asyncio.run(pull(name, settings, progress=bar.show))
    console.print(f"Pulled: {name}", markup=False)
    _print_use(str(name), console)
    return 0


def _print_use(name: str, console: "Console") -> None:
    console.print("Use it with:", markup=False)
    console.print(f"  export BATHYSPHERE_MODEL_MAIN={name}", markup=False)
    console.print("See what it can do:", markup=False)
    console.print(f"  bathysphere models test {name}", markup=False)


def _requested(
    name: str | None, url: str | None, sha256: str | None, settings: "ModelSettings"
) -> "_File | ModelName":
    from bathysphere.core.errors import ConfigError
    from bathysphere.models.downloads import SMALLEST, downloads
    from bathysphere.models.names import ModelName, parse
    from bathysphere.models.pulling import PULLERS

    if url and sha256:
        return _File(_file_name(name or PurePosixPath(urlsplit(url).path).name), url, sha256)
    if url or sha256:
        raise ConfigError("--url and --sha256 must be used together", hint="pass both or neither")
    known = downloads(settings)
    wanted = (name or SMALLEST).removeprefix("llamacpp:")
    entry = known.get(wanted)
    if entry is not None and entry.url and entry.sha256:
        return _File(entry.name, entry.url, entry.sha256)
    if entry is not None:
        return ModelName(entry.provider, entry.name)
    if wanted.partition(":")[1] and parse(wanted).provider in PULLERS:
        return parse(wanted)
    names = ", ".join(known)
    raise ConfigError(
        f"Unknown model: {name}",
        hint=f"choose {names}, ollama:NAME or lm-studio:NAME, or pass --url and --sha256",
    )


def _file_name(text: str) -> str:
    from bathysphere.core.errors import ConfigError
    from bathysphere.models.llamacpp import SUFFIX

    name = text.removesuffix(SUFFIX)
    if not name or name.startswith(".") or "/" in name or "\\" in name:
        raise ConfigError(f"Invalid file name: {text!r}", hint="pass a plain NAME to `models pull`")
    return name


class _ProgressBar:
    """A download progress bar."""

    def __init__(self, label: str, console: "Console") -> None:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task(label, total=None)

    def __enter__(self) -> "_ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def show(self, done: int, total: int | None) -> None:
        """Move the bar to `done` of `total` bytes."""
        self._progress.update(self._task, completed=done, total=total)
