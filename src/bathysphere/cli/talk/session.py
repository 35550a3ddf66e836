"""One talk: a thread in memory, turn after turn, that Ctrl-C stops and errors do not end.

The event loop runs only while the agent works. Questions to the person are asked between, in the
main thread, where Ctrl-C and line editing behave as people expect.
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
from bathysphere.cli.talk.events import MAIN, Paused, Reader
from bathysphere.cli.talk.screen import Screen
from bathysphere.core.errors import BathysphereError
from bathysphere.core.ids import new_id
from bathysphere.core.usage import total
from bathysphere.harness.build import Graph

INTERRUPTED = 130
LEAVE = {"/exit", "/quit"}
YOU = "you"


class Stuck(KeyboardInterrupt):
    """The person pressed Ctrl-C again while a run was still ending: they want to leave."""


@dataclass(kw_only=True)
class Session:
    """A talk with one agent."""

    graph: Graph
    screen: Screen
    answers: Answers
    _working: bool = field(default=False, init=False)
    _reader: Reader = field(init=False)
    _done: dict[str, Any] = field(default_factory=dict, init=False)
    """What the device has done for interrupts that are open: it is not done a second time."""

    def __post_init__(self) -> None:
        thread = {"configurable": {"thread_id": new_id("thread")}}
        self._reader = Reader(graph=self.graph, config=thread)  # type: ignore[arg-type]

    def once(self, message: str) -> int:
        """Say one thing and print what comes of it; errors are the caller's."""
        with asyncio.Runner() as runner:
            self._turn(runner, message)
        return 0

    def talk(self, *, agent: str, model: str, is_default: bool, notes: Sequence[str] = ()) -> int:
        """Take turns until the person leaves; the result is the exit code."""
        if sys.stdin.isatty():
            import readline  # noqa: F401  # gives `input` a history and line editing
        self.screen.note(f"{agent} on {model}. Ctrl-C stops the agent, Ctrl-D leaves.")
        if is_default:
            self.screen.note(
                "No model is set up, so a scripted tour answers; `bathysphere models` shows more."
            )
        for note in notes:
            self.screen.note(note)
        try:
            with asyncio.Runner() as runner:
                return self._turns(runner)
        except Stuck:
            return INTERRUPTED

    def _turns(self, runner: asyncio.Runner) -> int:
        commands = Commands(screen=self.screen, values=lambda: self._values(runner))
        while True:
            self.screen.gap()
            try:
                said = self.screen.ask(YOU).strip()
            except EOFError:
                self.screen.gap()
                return 0
            except KeyboardInterrupt:
                self.screen.gap()
                return INTERRUPTED
            if said in LEAVE:
                return 0
            if said:
                self._guarded_turn(runner, said, commands)

    def _guarded_turn(self, runner: asyncio.Runner, said: str, commands: Commands) -> None:
        try:
            self.screen.gap()
            if not commands.take(said):
                self._turn(runner, said, commands.given())
        except Stuck:
            raise
        except KeyboardInterrupt:
            self.screen.gap()
            self.screen.note("Stopped. What was done so far is kept; Ctrl-C again leaves.")
        except EOFError:
            self.screen.note("Nobody answers: stopped.")
        except BathysphereError as error:
            self.screen.error(error)
        except Exception as error:
            if os.environ.get("BATHYSPHERE_DEBUG"):
                raise
            self.screen.error(error)

    def _turn(
        self, runner: asyncio.Runner, said: str, given: Mapping[str, Any] | None = None
    ) -> None:
        message = {"role": "user", "content": said}
        paused = self._run(runner, {"messages": [message], **(given or {})})
        while paused is not None:
            answers = {i.id: self._answer(i, paused) for i in paused.interrupts}
            self.screen.answered()
            paused = self._run(runner, Command(resume=answers))
        self.screen.used(total(self._values(runner).get("usage")))

    def _values(self, runner: asyncio.Runner) -> Mapping[str, Any]:
        return runner.run(self.graph.aget_state(self._reader.config)).values

    def _answer(self, interrupt: Interrupt, paused: Paused) -> Any:
        if interrupt.id in self._done:
            return self._done[interrupt.id]
        answer = self.answers.to(interrupt, paused.asked_by.get(interrupt.id, MAIN))
        if isinstance(interrupt.value, Mapping) and interrupt.value.get("type") == "tool":
            self._done[interrupt.id] = answer
        return answer

    def _run(self, runner: asyncio.Runner, given: Any) -> Paused | None:
        try:
            return runner.run(self._follow(given))
        except KeyboardInterrupt:
            if self._working:
                raise Stuck from None
            raise
        except ValidationError as error:
            # An answer that does not fit is refused before it is saved: it can be given again.
            pending = runner.run(self.graph.aget_state(self._reader.config)).interrupts
            if self.answers.alone or not isinstance(given, Command) or not pending:
                raise
            for problem in error.errors():
                where = ".".join(str(part) for part in problem["loc"])
                self.screen.note(f"    not accepted: {where}: {problem['msg']}")
            return self._reader.paused(pending)

    async def _follow(self, given: Any) -> Paused | None:
        self._working = True
        try:
            async for event in self._reader.run(given):
                if isinstance(event, Paused):
                    return event
                self.screen.show(event)
        finally:
            self._working = False
        return None
