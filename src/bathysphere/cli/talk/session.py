"""A chat session in the terminal: one in-memory thread that survives Ctrl-C and errors.

The event loop runs only while the agent works. The person is prompted in between, in the main
thread, where Ctrl-C and line editing behave as expected.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Command, Interrupt
from pydantic import ValidationError

from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.commands import Commands
from bathysphere.cli.talk.events import MAIN, Pause, Reader
from bathysphere.cli.talk.memories import Memories
from bathysphere.cli.talk.screen import Screen
from bathysphere.core.errors import BathysphereError
from bathysphere.core.ids import new_id
from bathysphere.core.usage import total
from bathysphere.registry.factories import Graph

INTERRUPTED = 130
EXIT_COMMANDS = {"/exit", "/quit"}
PROMPT = "you"


class ForcedExit(KeyboardInterrupt):
    """The person pressed Ctrl-C again while a run was stopping."""


@dataclass(kw_only=True)
class Session:
    """A chat with one agent."""

    graph: Graph
    screen: Screen
    answers: Answers
    has_map: bool = True
    """Whether the agent maintains an argument map."""
    memories: Memories | None = None
    """The agent's notes about the person, if it keeps any."""
    _working: bool = field(default=False, init=False)
    _reader: Reader = field(init=False)
    _tool_results: dict[str, Any] = field(default_factory=dict, init=False)
    """Results of client tools by pending interrupt, so that no tool runs twice."""

    def __post_init__(self) -> None:
        thread = {"configurable": {"thread_id": new_id("thread")}}
        self._reader = Reader(graph=self.graph, config=thread)  # type: ignore[arg-type]

    def once(self, message: str) -> int:
        """Send one message and print the answer; errors propagate."""
        with asyncio.Runner() as runner:
            self._turn(runner, message)
        return 0

    def talk(self, *, agent: str, model: str, is_default: bool, notes: Sequence[str] = ()) -> int:
        """Chat until the person exits; return the exit code."""
        if sys.stdin.isatty():
            import readline  # noqa: F401  # gives `input` a history and line editing
        self.screen.note(f"{agent} on {model}. Ctrl-C interrupts, Ctrl-D exits.")
        if is_default:
            self.screen.note(
                "No model is configured; a scripted tour answers. See `bathysphere models`."
            )
        for note in notes:
            self.screen.note(note)
        try:
            with asyncio.Runner() as runner:
                return self._turns(runner)
        except ForcedExit:
            return INTERRUPTED

    def _turns(self, runner: asyncio.Runner) -> int:
        commands = Commands(
            screen=self.screen,
            values=lambda: self._values(runner),
            has_map=self.has_map,
            memories=self.memories,
        )
        while True:
            self.screen.gap()
            try:
                line = self.screen.ask(PROMPT).strip()
            except EOFError:
                self.screen.gap()
                return 0
            except KeyboardInterrupt:
                self.screen.gap()
                return INTERRUPTED
            if line in EXIT_COMMANDS:
                return 0
            if line:
                self._guarded_turn(runner, line, commands)

    def _guarded_turn(self, runner: asyncio.Runner, line: str, commands: Commands) -> None:
        try:
            self.screen.gap()
            if not commands.handle(line):
                self._turn(runner, line, commands.state_update())
        except ForcedExit:
            raise
        except KeyboardInterrupt:
            self.screen.gap()
            self.screen.note("Stopped. Work so far is kept; press Ctrl-C again to exit.")
        except EOFError:
            self.screen.note("No input available; stopped.")
        except BathysphereError as error:
            self.screen.error(error)
        except Exception as error:
            if os.environ.get("BATHYSPHERE_DEBUG"):
                raise
            self.screen.error(error)

    def _turn(
        self, runner: asyncio.Runner, text: str, update: Mapping[str, Any] | None = None
    ) -> None:
        message = {"role": "user", "content": text}
        paused = self._run(runner, {"messages": [message], **(update or {})})
        while paused is not None:
            answers = {i.id: self._answer(i, paused) for i in paused.interrupts}
            self.screen.answered()
            paused = self._run(runner, Command(resume=answers))
        self.screen.used(total(self._values(runner).get("usage")))

    def _values(self, runner: asyncio.Runner) -> Mapping[str, Any]:
        return runner.run(self.graph.aget_state(self._reader.config)).values

    def _answer(self, interrupt: Interrupt, paused: Pause) -> Any:
        if interrupt.id in self._tool_results:
            return self._tool_results[interrupt.id]
        answer = self.answers.resolve(interrupt, paused.asked_by.get(interrupt.id, MAIN))
        if isinstance(interrupt.value, Mapping) and interrupt.value.get("type") == "tool":
            self._tool_results[interrupt.id] = answer
        return answer

    def _run(self, runner: asyncio.Runner, graph_input: Any) -> Pause | None:
        try:
            return runner.run(self._follow(graph_input))
        except KeyboardInterrupt:
            if self._working:
                raise ForcedExit from None
            raise
        except ValidationError as error:
            # An invalid answer is rejected before it is saved, so the person can answer again.
            pending = runner.run(self.graph.aget_state(self._reader.config)).interrupts
            if self.answers.unattended or not isinstance(graph_input, Command) or not pending:
                raise
            for problem in error.errors():
                where = ".".join(str(part) for part in problem["loc"])
                self.screen.note(f"    not accepted: {where}: {problem['msg']}")
            return self._reader.pause_for(pending)

    async def _follow(self, graph_input: Any) -> Pause | None:
        self._working = True
        try:
            async for event in self._reader.run(graph_input):
                if isinstance(event, Pause):
                    return event
                self.screen.show(event)
        finally:
            self._working = False
        return None
