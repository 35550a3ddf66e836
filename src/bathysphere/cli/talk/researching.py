"""One research run in the terminal: the plan, a bar for each step, the report with its sources."""

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
from bathysphere.agents.research.keys import read_key
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.events import MAIN
from bathysphere.cli.talk.plans import VERBS
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.errors import CallerError
from bathysphere.core.ids import new_id
from bathysphere.harness.build import Graph, build
from bathysphere.models.names import DEMO_TOUR
from bathysphere.models.settings import ModelSettings

FAILED = 2
DEMO = (
    "No model is set up, so rules answer, not an AI: they quote the sentences that share most words"
    " with the question. `bathysphere models` shows more."
)
SAMPLE = "No corpus is given, so a few sample pages about the first bathysphere are searched."


def own_key() -> bytes:
    """The key of this user on this machine: their proofs are signed with it."""
    folder = Path("~/.local/share/bathysphere").expanduser()
    return read_key(folder / "research.key")


def check_out(path: Path | None) -> None:
    """Refuse a file that cannot become a report, before any work is done.

    Raises:
        CallerError: The ending is not one of a report's, or the folder is not there.
    """
    if path is None:
        return
    if path.suffix.removeprefix(".") not in FORMATS:
        raise CallerError(
            f"{path.name} has no ending that a report can have",
            hint=f"end it in {', '.join(f'.{name}' for name in FORMATS)}",
        )
    if not path.absolute().parent.is_dir():
        raise CallerError(f"there is no folder {path.parent}", hint="make it first")


@dataclass(kw_only=True)
class Research:
    """A question on its way to a report."""

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
    ) -> "Research":
        """Put the parts together as the command line asks."""
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
        research = settings.config(models, key=own_key())
        store = InMemoryStore()
        graph = build(
            configured("research", models, config=research),
            checkpointer=InMemorySaver(),
            store=store,
        )
        return cls(graph=graph, store=store, research=research, screen=screen, answers=answers)

    def run(self, question: str, *, urls: Sequence[str], out: Path | None) -> int:
        """Research it; the result is the exit code."""
        given: Any = {"user_query": question, "context_urls": list(urls)}
        with asyncio.Runner() as runner:
            while True:
                asked = self._go(runner, given)
                if not asked:
                    break
                try:
                    given = Command(resume={one.id: self.answers.to(one, MAIN) for one in asked})
                except EOFError:
                    self.screen.note("Nobody answers: stopped. Nothing was searched.")
                    return FAILED
            state = runner.run(self.graph.aget_state(self._config)).values
            if state["status"] != "complete":
                self.screen.note(f"The research failed: {safe(state.get('error_message') or '')}")
                return FAILED
            self._report(state)
            if out is not None:
                body = runner.run(self._file(state, out))
                out.write_bytes(body)
                self.screen.note(f"wrote {out} ({len(body):,} bytes)")
                if out.suffix == ".zip":
                    self.screen.note(
                        f"check it anywhere, without a network: bathysphere verify {out}"
                    )
        return 0

    def _go(self, runner: asyncio.Runner, given: Any) -> tuple[Interrupt, ...]:
        try:
            return runner.run(self._follow(given))
        except ValidationError as error:
            # An answer that does not fit is refused before it is saved: it can be given again.
            waiting: tuple[Interrupt, ...] = runner.run(
                self.graph.aget_state(self._config)
            ).interrupts
            if not waiting or self.answers.approve == "all":
                raise
            for problem in error.errors():
                where = ".".join(str(part) for part in problem["loc"])
                self.screen.note(f"    not accepted: {where}: {problem['msg']}")
            return waiting

    async def _follow(self, given: Any) -> tuple[Interrupt, ...]:
        asked: tuple[Interrupt, ...] = ()
        with Bars(self.screen) as bars:
            stream: Any = self.graph.astream(given, self._config, stream_mode=["updates", "custom"])
            async for mode, data in stream:
                if mode == "custom":
                    bars.show(data)
                    continue
                for node, update in data.items():
                    if node == "__interrupt__":
                        asked = tuple(update)
                    elif isinstance(update, Mapping):
                        self._trace(update)
        return asked

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


class Bars:
    """A bar for each step on a terminal, a line for each change elsewhere."""

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

    def __enter__(self) -> "Bars":
        if self._is_live:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._progress.stop()

    def show(self, data: Any) -> None:
        """One change of one step."""
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
