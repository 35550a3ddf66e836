"""`bathysphere dev`: serve a project while it is written.

The server stays; only its agents are loaded again when a file changes. So threads, streams and the
embedded database are kept, a change is live at once, and after a mistake the last version that
loaded stays in use.
"""

import argparse
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.cli.failures import print_error
from bathysphere.cli.serve import (
    add_network,
    add_process,
    check_data_dir,
    prepare,
    run_server,
    settings_of,
)
from bathysphere.cli.targets import add_targets, find_selection, served_agents
from bathysphere.core.errors import BathysphereError, CallerError

if TYPE_CHECKING:
    from watchfiles import Change

    from bathysphere.cli.serve import MakeGraphs
    from bathysphere.engine.graphs import Graphs
    from bathysphere.registry.agents import Agent
    from bathysphere.registry.selection import Selection

HELP = "serve a project while you write it: changes are live at once"
DATA_DIR = Path(".bathysphere")
DATA_VARIABLE = "BATHYSPHERE_DATA_DIR"
ENV_FILE = ".env"
DEBOUNCE_MS = 400
"""How long to wait for further changes at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and the flags; each flag overrides a `BATHYSPHERE_…` variable."""
    add_targets(parser)
    parser.add_argument(
        "--no-browser", action="store_true", help="do not open the workspace in the browser"
    )
    add_network(parser)
    add_process(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM, and load the agents again when a file changes."""
    if args.data_dir is None and not os.environ.get(DATA_VARIABLE):
        args.data_dir = DATA_DIR
    settings = settings_of(args)
    prepare(settings)
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # `_reload` says what changed
    check_data_dir(settings)
    # Bytecode is compared by seconds: a second change within one would not be seen.
    sys.dont_write_bytecode = True
    print("Starting…", file=sys.stderr)
    project = _Project(args.targets, is_only=args.only, data_dir=settings.data_dir)
    agents = project.load_first()
    run_server(
        settings,
        agents,
        selection=project.selection,
        on_url=None if args.no_browser else open_browser,
        companion=project.reload_on_change,
    )
    return 0


class _Project:
    """The targets of the command, and the agents that were loaded from them."""

    def __init__(self, targets: Sequence[str], *, is_only: bool, data_dir: Path) -> None:
        self._targets = targets
        self._is_only = is_only
        self._data_dir = data_dir.resolve()
        self._folders = [Path.cwd()]
        self._loaded_at = 0.0
        self.selection: Selection | None = None

    def load_first(self) -> "dict[str, Agent]":
        """Load the agents; after a mistake, again when a file changes.

        Raises:
            CallerError: There is nothing to load.
        """
        from watchfiles import watch

        while True:
            self._loaded_at = time.time()
            try:
                selection = self._select()
                agents = served_agents(selection, is_only=self._is_only)
            except CallerError:
                raise
            except BathysphereError as error:
                print_error(error)
                print("Waiting for a change…", file=sys.stderr)
                next(watch(*self._folders, watch_filter=self._filter(), debounce=DEBOUNCE_MS))
                _forget_modules(self._folders)
            else:
                self.selection = selection
                return agents

    async def reload_on_change(self, graphs: "Graphs", make: "MakeGraphs") -> None:
        """Load the agents again whenever a file changes."""
        import asyncio

        from watchfiles import awatch

        if files := await asyncio.to_thread(self.changed_since_start):
            await self._reload(files, graphs, make)
        while True:
            folders = self._folders
            print(f"Watching {', '.join(map(_short, folders))} for changes.", file=sys.stderr)
            watching = awatch(*folders, watch_filter=self._filter(), debounce=DEBOUNCE_MS)
            async for changes in watching:
                files = sorted({_short(Path(path)) for _, path in changes})
                await self._reload(files, graphs, make)
                if self._folders != folders:
                    break

    def changed_since_start(self) -> list[str]:
        """Files that changed while the server started, before anything watched them."""
        from watchfiles import Change, DefaultFilter

        is_relevant = self._filter()
        found: list[Path] = []
        for start in self._folders:
            for place, folders, files in os.walk(start):
                folders[:] = [name for name in folders if name not in DefaultFilter.ignore_dirs]
                newer = [path for name in files if self._is_newer(path := Path(place, name))]
                found += [path for path in newer if is_relevant(Change.modified, str(path))]
        return sorted(map(_short, found))

    def _is_newer(self, path: Path) -> bool:
        try:
            return path.stat().st_mtime > self._loaded_at
        except OSError:  # deleted meanwhile
            return False

    async def _reload(self, files: list[str], graphs: "Graphs", make: "MakeGraphs") -> None:
        import asyncio

        began = time.monotonic()
        if any(Path(file).name == ENV_FILE for file in files):
            print(f"{ENV_FILE} changed: start `bathysphere dev` again to use it.", file=sys.stderr)
        try:
            fresh = await asyncio.to_thread(self._load_again, make)
            await fresh.prepare()
        except BathysphereError as error:
            print_error(error)
            print("The last version that loaded stays in use.", file=sys.stderr)
            return
        graphs.replace(fresh)
        seconds = time.monotonic() - began
        print(f"Reloaded after a change of {', '.join(files)} ({seconds:.2f} s).", file=sys.stderr)

    def _load_again(self, make: "MakeGraphs") -> "Graphs":
        from bathysphere.registry.errors import load_failure
        from bathysphere.registry.reload import fresh_modules

        with fresh_modules(self._folders):
            selection = self._select()
            if self.selection is not None and selection.settings() != self.selection.settings():
                print(
                    "`auth`, `http`, `store` or `checkpointer` of langgraph.json changed:"
                    " start `bathysphere dev` again.",
                    file=sys.stderr,
                )
            agents = served_agents(selection, is_only=self._is_only)
            try:
                graphs = make(agents)
                _build(graphs, agents)
            except Exception as error:  # the code of a project may raise anything
                raise load_failure("the project", error, folder=self._folders[0]) from error
            return graphs

    def _select(self) -> "Selection":
        selection = find_selection(self._targets)
        if not selection.entries():
            raise CallerError(
                "No langgraph.json or agent.toml in this folder",
                hint="`bathysphere new NAME` writes a project; or name a target",
            )
        self._folders = _outermost(selection.folders())
        return selection

    def _filter(self) -> "Callable[[Change, str], bool]":
        """Ignores caches, editors' files, the data folder, and what is not a file."""
        from watchfiles import DefaultFilter

        default = DefaultFilter()

        def is_relevant(change: "Change", path: str) -> bool:
            place = Path(path)
            is_ours = not place.is_relative_to(self._data_dir) and not place.is_dir()
            return is_ours and default(change, path)

        return is_relevant


def open_browser(url: str) -> None:
    """Open the workspace in the browser, if this machine has a screen."""
    needs_display = sys.platform.startswith("linux")
    if needs_display and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
        return
    # Some browsers block until they are closed.
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _build(graphs: "Graphs", agents: "dict[str, Agent]") -> None:
    """Build the graphs of targets, so that a mistake is noticed before they replace the others."""
    from bathysphere.registry.factories import Factory

    for name, agent in agents.items():
        if not agent.is_registered and not isinstance(agent.content, Factory):
            graphs.get(name)


def _forget_modules(folders: Sequence[Path]) -> None:
    """Import the project's modules again next time."""
    from bathysphere.registry.reload import fresh_modules

    with fresh_modules(folders):
        return


def _outermost(folders: Sequence[Path]) -> list[Path]:
    """The folders without those that are inside another one."""
    found = sorted({folder.resolve() for folder in folders}, key=lambda path: len(path.parts))
    outermost: list[Path] = []
    for folder in found:
        if not any(folder.is_relative_to(other) for other in outermost):
            outermost.append(folder)
    return outermost


def _short(path: Path) -> str:
    return os.path.relpath(path)
