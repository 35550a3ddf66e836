"""A research run in the terminal: plan approval, progress bars and the report."""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from bathysphere.agents.research.outcome import found_nothing
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.context_folder import ContextFolder
from bathysphere.cli.talk.events import MAIN
from bathysphere.cli.talk.plans import VERBS
from bathysphere.cli.talk.research_reports import SessionReports
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.errors import CallerError
from bathysphere.core.ids import new_id
from bathysphere.core.words import count
from bathysphere.evidence.proof.signing import read_key
from bathysphere.harness.build import Graph, build
from bathysphere.models.names import DEMO_TOUR
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.file import local_policy_file
from bathysphere.policy.rules import Policy

FAILED = 2
NOTHING_FOUND = 3
DEMO = (
    "No model is configured, so rules answer instead of an AI: they quote the sentences that share"
    " the most words with the question. Run `bathysphere models` to see available models."
)
PROMPT = "Follow-up, or Enter to finish (/reports, /save FILE)"
COMMANDS = "Commands: /reports lists the reports, /save FILE [NUMBER] writes one."
SAMPLE = "No corpus is configured; searching a few sample pages about the first bathysphere."


def user_signing_key() -> bytes:
    """This user's key for signing proofs, created on first use."""
    folder = Path("~/.local/share/bathysphere").expanduser()
    return read_key(folder / "research.key")


def policy_note(path: Path, policy: Policy) -> str:
    """Print which policy is used, and what code and the auditor check of it."""
    rules = "its rules" if policy.has_own_rules else "the rules that ship"
    judged = count(len(policy.sentences), "sentence")
    return f"Policy: {path} ({rules}; {judged} for the auditor). See `bathysphere policy {path}`."


@dataclass(kw_only=True)
class ResearchSession:
    """Runs one research question in this process."""

    graph: Graph
    store: InMemoryStore
    research: ResearchConfig
    screen: Screen
    answers: Answers
    _config: Any = field(init=False)
    _reports: SessionReports = field(init=False)

    def __post_init__(self) -> None:
        thread = new_id("thread")
        self._config = {"configurable": {"thread_id": thread}}
        self._reports = SessionReports(
            screen=self.screen, store=self.store, thread=thread, research=self.research
        )

    @classmethod
    def from_arguments(
        cls, args: argparse.Namespace, *, screen: Screen, answers: Answers
    ) -> "ResearchSession":
        """Build a session from command-line arguments."""
        models = ModelSettings.from_environment()
        if args.model:
            models = models.model_copy(update={"main": args.model})
        settings = ResearchSettings.from_environment()
        policy_file = args.policy or settings.policy_file or local_policy_file()
        if policy_file:
            settings = settings.model_copy(update={"policy_file": policy_file})
        if args.corpus:
            settings = settings.model_copy(update={"corpus": args.corpus, "where": "corpus"})
        if models.choice("main").name == DEMO_TOUR:
            screen.note(DEMO)
            if settings.where == "auto" and settings.corpus is None:
                screen.note(SAMPLE)
        research = settings.config(models, key=user_signing_key(), opens_pages=bool(args.url))
        if policy_file:
            screen.note(policy_note(policy_file, research.policy))
        store = InMemoryStore()
        graph = build(
            configured("research", models, config=research),
            checkpointer=InMemorySaver(),
            store=store,
        )
        return cls(graph=graph, store=store, research=research, screen=screen, answers=answers)

    def run(
        self,
        question: str,
        *,
        urls: Sequence[str],
        context: Path | None,
        then: Sequence[str] = (),
        out: Path | None = None,
        number: int | None = None,
    ) -> int:
        """Research a question and its follow-ups, and return the exit code."""
        graph_input: Any = {
            "user_query": question,
            "context_urls": list(urls),
            "documents": self._shared(context, question) if context else [],
        }
        with asyncio.Runner() as runner:
            code = self._ask(runner, graph_input)
            if code:
                return code
            for message in self._messages(runner, then):
                self.screen.heading(message)
                code = self._ask(runner, {"user_query": message})
            if out is not None:
                self._export(runner, out, number)
        return code

    def _ask(self, runner: asyncio.Runner, graph_input: Any) -> int:
        """Carry out one question, up to its report or answer."""
        while pending := self._resume(runner, graph_input):
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
        self._show((state.get("answer") or {}).get("text") or state["final_report"])
        return 0

    def _messages(self, runner: asyncio.Runner, then: Sequence[str]) -> Iterator[str]:
        """Follow-ups: those of the command line, then what the person types at a terminal."""
        yield from then
        while sys.stdin.isatty() and not then and self.answers.approve == "ask":
            try:
                line = self.screen.ask(PROMPT).strip()
            except EOFError:
                return
            if not line:
                return
            if line.startswith("/"):
                self._command(runner, line)
            else:
                yield line

    def _command(self, runner: asyncio.Runner, line: str) -> None:
        """Run `/reports` or `/save FILE [NUMBER]`."""
        name, *rest = line.split()
        try:
            if name == "/save" and rest:
                number = int(rest[1]) if rest[1:] and rest[1].isdecimal() else None
                self._export(runner, Path(rest[0]), number)
            elif name == "/reports":
                runner.run(self._reports.show())
            else:
                self.screen.note(COMMANDS)
        except CallerError as error:
            self.screen.note(f"{error.message}: {error.hint}")

    def _export(self, runner: asyncio.Runner, out: Path, number: int | None) -> None:
        body = runner.run(self._reports.file(out, number))
        out.write_bytes(body)
        self.screen.note(f"Wrote {out} ({len(body):,} bytes).")
        if out.suffix == ".zip":
            self.screen.note(f"Verify it offline with: bathysphere verify {out}")

    def _shared(self, folder: Path, question: str) -> list[dict[str, Any]]:
        """Choose passages from a folder, and print what will be shared."""
        documents = ContextFolder(folder)
        for reason in documents.skipped:
            self.screen.note(f"Skipped {safe(reason)}")
        chosen = documents.choose(question)
        if not chosen:
            self.screen.note("No passage of your documents shares a word with the question.")
            return []
        passages = count(len(chosen), "passage")
        self.screen.note(f"Shared with the model: {passages} of your documents")
        for one in chosen:
            words = self.screen.brief(one.text)
            self.screen.note(f"  {safe(one.file)}, bytes {one.start}-{one.end}: {words}")
        return [one.model_dump() for one in chosen]

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

    def _show(self, text: str) -> None:
        self.screen.gap()
        text = safe(text)
        if self.screen.console.is_terminal and not self.screen.console.no_color:
            self.screen.console.print(Markdown(text, hyperlinks=False))
        else:
            self.screen.console.print(text, soft_wrap=True)


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
