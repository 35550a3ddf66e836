"""The screen of `bathysphere models test`: a progress bar, then what was found."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from bathysphere.models.profiles import ModelReport
    from bathysphere.models.settings import ModelSettings

_STYLES = {"passed": "green", "failed": "red", "skipped": "dim"}


def probe_and_store(name: str | None, settings: "ModelSettings", console: "Console") -> int:
    """Probe a model, store the report and print it.

    Raises:
        CallerError: The model is the scripted tour.
        ConfigError: The model cannot be built, or the report cannot be stored.
        ModelUnavailable: The model cannot be reached.
    """
    import asyncio

    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import CallerError
    from bathysphere.models.names import DEMO, parse
    from bathysphere.models.probes import probe_model
    from bathysphere.models.profiles import save_report
    from bathysphere.models.resolve import resolve

    parsed = parse(name or settings.choice("main").name)
    if parsed.provider == DEMO:
        raise CallerError(
            f"{parsed} is a script, not a model", hint="name one that `bathysphere models` lists"
        )
    model = resolve(str(parsed), settings)
    with _Bar(str(parsed), console) as bar:
        work = probe_model(str(parsed), model, clock=SystemClock(), progress=bar.show)
        report = asyncio.run(work)
    path = save_report(report, settings)
    print_report(report, console)
    console.print(f"Stored: {path}", markup=False)
    return 0


def print_report(report: "ModelReport", console: "Console") -> None:
    """Print the result of each probe, then the speed, the profile and what it means."""
    width = max(len(probe.name) for probe in report.probes)
    for probe in report.probes:
        style = _STYLES[probe.state]
        console.print(f"  [{style}]{probe.state:<7}[/{style}]  ", end="")
        console.print(f"{probe.name:<{width}}  {probe.detail}".rstrip(), markup=False)
    console.print()
    if report.tokens_per_s is not None:
        speed = f"{report.tokens_per_s:g} tokens/s, the first after {report.first_token_s:g} s"
        console.print(f"Speed:   {speed}", markup=False)
    console.print(f"Profile: {report.profile}", markup=False)
    if report.needs_constraint:
        console.print("Tools:   by answers that are constrained to a JSON schema", markup=False)
    console.print(f"Use it for: {report.trust}", markup=False)


class _Bar:
    """A bar of finished probes, with the name of the one that runs."""

    def __init__(self, label: str, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn(label, markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def show(self, done: int, total: int, current: str) -> None:
        """Move the bar to `done` of `total` probes."""
        self._progress.update(self._task, completed=done, total=total, description=current)
