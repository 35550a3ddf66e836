"""A research run in the terminal: plan approval, progress bars and the report."""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Interrupt
from pydantic import ValidationError
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bathysphere.agents import configured
from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.download import FORMATS, download
from bathysphere.agents.research.outcome import found_nothing
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.events import MAIN
from bathysphere.cli.talk.plans import VERBS
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.errors import CallerError
from bathysphere.core.ids import new_id
from bathysphere.evidence.proof.signing import read_key
from bathysphere.harness.build import Graph, build
from bathysphere.models.names import DEMO_TOUR
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.plan import FETCH_PAGE

FAILED = 2
NOTHING_FOUND = 3
DEMO = (
    "No model is configured, so rules answer instead of an AI: they quote the sentences that share"
    " the most words with the question. Run `bathysphere models` to see available models."
)
SAMPLE = "No corpus is configured; searching a few sample pages about the first bathysphere."


def user_signing_key() -> bytes:
    """This user's key for signing proofs, created on first use."""
    folder = Path("~/.local/share/bathysphere").expanduser()
    return read_key(folder / "research.key")


def check_output_path(path: Path | None) -> None:
    """Reject an unusable output path before any work is done.

    Raises:
        CallerError: The extension is unknown, or the folder does not exist.
    """
    if path is None:
        return
    if path.suffix.removeprefix(".") not in FORMATS:
        raise CallerError(
            f"Unsupported report format: {path.name}",
            hint=f"use one of {', '.join(f'.{name}' for name in FORMATS)}",
        )
    if not path.absolute().parent.is_dir():
        raise CallerError(f"Folder not found: {path.parent}", hint="create it first")


@dataclass(kw_only=True)
class ResearchSession:
    """Runs one research question in this process."""

    graph: Graph
    store: InMemoryStore
    research: ResearchConfig
    screen: Screen
    answers: Answers
    _config: Any = field(init=False)

    def __post_init__(self) -> None:
        self._config = {"configurable": {"thread_id": new_id("thread")}}

    @classmethod
    def from_arguments(
        cls, args: argparse.Namespace, *, screen: Screen, answers: Answers
    ) -> "ResearchSession":
        """Build a session from command-line arguments."""
        models = ModelSettings.from_environment()
        if args.model:
            models = models.model_copy(update={"main": args.model})
        settings = ResearchSettings.from_environment()
        if args.policy:
            settings = settings.model_copy(update={"policy_file": args.policy})
        if args.corpus:
            settings = settings.model_copy(update={"corpus": args.corpus, "where": "corpus"})
        if models.choice("main").name == DEMO_TOUR:
            screen.note(DEMO)
            if settings.where == "auto" and settings.corpus is None:
                screen.note(SAMPLE)
        research = settings.config(models, key=user_signing_key())
        store = InMemoryStore()
        graph = build(
            configured("research", models, config=research),
            checkpointer=InMemorySaver(),
            store=store,
        )
        return cls(graph=graph, store=store, research=research, screen=screen, answers=answers)

    def run(self, question: str, *, urls: Sequence[str], out: Path | None) -> int:
        """Research a question and return the exit code."""
        if urls and FETCH_PAGE not in self.research.sources.tools:
            raise CallerError(
                f"Cannot open {urls[0]}: only local documents are searched",
                hint="omit --url; or omit --corpus and configure a model to research the web",
            )
        graph_input: Any = {"user_query": question, "context_urls": list(urls)}
        with asyncio.Runner() as runner:
            while True:
                pending = self._resume(runner, graph_input)
                if not pending:
                    break
                try:
                    graph_input = Command(
                        resume={one.id: self.answers.resolve(one, MAIN) for one in pending}
                    )
                except EOFError:
                    self.screen.note("No input available; stopped before searching.")
                    return FAILED
            state = runner.run(self.graph.aget_state(self._config)).values
            if state["status"] != "complete":
                self.screen.note(f"Research failed: {safe(state.get('error_message') or '')}")
                return NOTHING_FOUND if found_nothing(state) else FAILED
            self._report(state)
            if out is not None:
                body = runner.run(self._file(state, out))
                out.write_bytes(body)
                self.screen.note(f"Wrote {out} ({len(body):,} bytes).")
                if out.suffix == ".zip":
                    self.screen.note(f"Verify it offline with: bathysphere verify {out}")
        return 0

    def _resume(self, runner: asyncio.Runner, graph_input: Any) -> tuple[Interrupt, ...]:
        try:
            return runner.run(self._follow(graph_input))
        except ValidationError as error:
            # An invalid answer is rejected before it is saved, so the person can answer again.
            pending: tuple[Interrupt, ...] = runner.run(
                self.graph.aget_state(self._config)
            ).interrupts
            if not pending or self.answers.approve == "all":
                raise
            for problem in error.errors():
                where = ".".join(str(part) for part in problem["loc"])
                self.screen.note(f"    not accepted: {where}: {problem['msg']}")
            return pending

    async def _follow(self, graph_input: Any) -> tuple[Interrupt, ...]:
        pending: tuple[Interrupt, ...] = ()
        with StepProgress(self.screen) as bars:
            stream: Any = self.graph.astream(
                graph_input, self._config, stream_mode=["updates", "custom"]
            )
            async for mode, data in stream:
                if mode == "custom":
                    bars.show(data)
                    continue
                for node, update in data.items():
                    if node == "__interrupt__":
                        pending = tuple(update)
                    elif isinstance(update, Mapping):
                        self._trace(update)
        return pending

    def _trace(self, update: Mapping[str, Any]) -> None:
        for line in update.get("reasoning") or ():
            self.screen.note(
                f"  {self.screen.marks['later']} {line['node']}: {safe(line['summary'])}"
            )

    def _report(self, state: Mapping[str, Any]) -> None:
        self.screen.gap()
        text = safe(state["final_report"])
        if self.screen.console.is_terminal and not self.screen.console.no_color:
            self.screen.console.print(Markdown(text, hyperlinks=False))
        else:
            self.screen.console.print(text, soft_wrap=True)

    async def _file(self, state: Mapping[str, Any], out: Path) -> bytes:
        kind = out.suffix.removeprefix(".")
        thread = self._config["configurable"]["thread_id"]
        file = await download(state, kind, store=self.store, thread_id=thread, config=self.research)
        return file.body


class StepProgress:
    """Progress bars per step on a terminal; a line per change elsewhere."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_live = screen.console.is_terminal and not screen.console.no_color
        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("  {task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=screen.console,
        )

    def __enter__(self) -> "StepProgress":
        if self._is_live:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._progress.stop()

    def show(self, data: Any) -> None:
        """Show a change of one step."""
        if not isinstance(data, Mapping) or data.get("type") != "research_step":
            return
        verb = VERBS.get(data["tool"], data["tool"])
        title = f"{verb}: {self._screen.brief(data['input'])}"
        note = safe(str(data.get("note") or data["state"]))
        if not self._is_live:
            self._screen.note(f"  {self._mark(data['state'])} {title} {note}")
            return
        task = self._tasks.get(data["step"])
        if task is None:
            task = self._progress.add_task(title, total=max(1, data["total"]), note=note)
            self._tasks[data["step"]] = task
        self._progress.update(task, completed=data["done"], total=max(1, data["total"]), note=note)

    def _mark(self, state: str) -> str:
        marks = self._screen.marks
        return {"done": marks["ok"], "failed": marks["failed"]}.get(state, marks["now"])
