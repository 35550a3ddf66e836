"""Files: file tools over a backend, safe for parallel edits by subagents.

deepagents' filesystem layer with changes: while a tool runs, scratch files are shared by the whole
tree (see `backends.scratch`), deletion markers are cleared when the next run starts, the `grep`
tool is not copied (with its schema rebuilt) for every model call, tools have short words and
schemas, and messages of earlier turns are
not searched again for attachments of tool results and for evicted text.

Order: outermost, as in deepagents. State: `files`, `run_id`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, NotRequired, TypeVar

from deepagents.backends.protocol import BackendProtocol, SandboxBackendProtocol
from deepagents.middleware.filesystem import (
    GREP_TOOL_DESCRIPTION,
    FilesystemMiddleware,
    FilesystemPermission,
    FsToolName,
)
from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.channels.delta import DeltaChannel
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from bathysphere.backends.scratch import merge_files, settle, share, tombstones
from bathysphere.core.writers import ByEngine, Writer
from bathysphere.models.history import human_messages
from bathysphere.models.short_tool import shortened

T = TypeVar("T")

# ── text for the model ──

LS = "List the files in a folder."
READ = """Read a file: 100 lines, or page with `offset`/`limit`. The header line `@@ … @@` is not
part of the file. Also reads images, audio, video and PDFs, and long results that tools left."""
WRITE = "Create a file, or replace all of it."
EDIT = """Make exact string replacements in a file. You must read the file before editing.
`old_string` must occur once, unless `replace_all`."""
DELETE = "Delete a file, or a folder with all that is in it. This cannot be undone."
GLOB = """Find files by a pattern such as `*.md`, at any depth. A pattern with `/` (`src/**/*.py`)
is matched from `path`. Names that begin with a dot need a pattern that does."""
GREP = """Search files for a literal text (not a regular expression). Shows the files that contain
it; `content` shows the lines, `count` how many."""

_PATH = "Absolute path."
_FOLDER = {"path": "Folder to search."}
_SHORT: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "ls": (LS, (), {"path": _PATH}),
    "read_file": (READ, (), {"file_path": _PATH, "offset": "First line, from 0.", "limit": ""}),
    "write_file": (WRITE, (), {"file_path": _PATH, "content": ""}),
    "edit_file": (
        EDIT,
        (),
        {"file_path": _PATH, "old_string": "", "new_string": "", "replace_all": ""},
    ),
    "delete": (DELETE, (), {"file_path": _PATH}),
    "glob": (GLOB, (), {"pattern": "", **_FOLDER}),
    "grep": (
        GREP,
        ("max_count",),
        {"pattern": "", **_FOLDER, "glob": "Names of files, such as `*.md`.", "output_mode": ""},
    ),
}
"""Tool → its description, the arguments that are not shown, and the descriptions of the others."""

LEAN_TOOLS: tuple[FsToolName, ...] = (
    "ls",
    "read_file",
    "write_file",
    "edit_file",
    "delete",
    "grep",
    "execute",  # only there if the backend has a shell
)
"""The tools of the lean profile: `ls` and `grep` find what `glob` does."""
_LEAN_HIDDEN: Mapping[str, tuple[str, ...]] = {
    "grep": ("path", "glob", "output_mode"),
    "edit_file": ("replace_all",),
}
_LEAN_WORDS: Mapping[str, str] = {
    "read_file": "Read a file: `limit` lines from `offset`, under a header `@@ … @@`.",
    "edit_file": "Replace a text that occurs once in a file that you have read.",
    "grep": "List the files that contain a text.",
}

# ── state ──


class FilesState(AgentState[Any]):
    """State of the Files layer."""

    run_id: NotRequired[ByEngine[str]]
    files: Annotated[
        NotRequired[dict[str, Any]],
        Writer.CLIENT,
        DeltaChannel(merge_files, snapshot_frequency=50),
    ]


# ── middleware ──


class FilesMiddleware(FilesystemMiddleware):
    """Gives the agent `ls`, `read_file`, `write_file`, `edit_file`, `delete`, `glob`, `grep`."""

    def __init__(
        self,
        backend: BackendProtocol,
        permissions: list[FilesystemPermission] | None = None,
        *,
        lean: bool = False,
    ) -> None:
        # A custom description also keeps `grep` from being copied on every model call.
        grep = GREP_TOOL_DESCRIPTION if isinstance(backend, SandboxBackendProtocol) else GREP
        super().__init__(
            backend=backend,
            permissions=permissions,
            custom_tool_descriptions={"grep": grep},
            tools=list(LEAN_TOOLS) if lean else None,
        )
        self.tools = [_shortened(tool, lean=lean) for tool in self.tools]
        self.state_schema = FilesState  # upstream sets another schema, with another reducer

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return FilesystemMiddleware.__name__

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Clear deletion markers of earlier runs."""
        deleted = tombstones(state.get("files"))
        return {"files": dict.fromkeys(deleted)} if deleted else None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Settle the files of the last step, then call the model."""
        _settle(request.state)
        return super().wrap_model_call(*self._last_turn(request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Settle the files of the last step, then call the model."""
        _settle(request.state)
        return await super().awrap_model_call(*self._last_turn(request, handler))

    def _last_turn(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], T]
    ) -> tuple[ModelRequest[Any], Callable[[ModelRequest[Any]], T]]:
        """The request with its last turn only, and a handler that puts the earlier ones back."""
        start = self._start_of_turn(request.messages)
        earlier, recent = request.messages[:start], request.messages[start:]
        return (
            request.override(messages=recent),
            lambda changed: handler(changed.override(messages=[*earlier, *changed.messages])),
        )

    def _start_of_turn(self, messages: Sequence[AnyMessage]) -> int:
        """Where the last model turn starts; 0 if upstream may change an earlier message.

        It changes human messages that it marked, and what follows the last answer of the model.
        """
        if self._offload_binary_content:
            return 0
        places = range(len(messages) - 1, -1, -1)
        start = next((at for at in places if isinstance(messages[at], AIMessage)), 0)
        earlier = (m for at, m in human_messages(messages) if at < start)
        return 0 if any(m.additional_kwargs for m in earlier) else start

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Share the run's files while the tool runs."""
        with _shared_files(request):
            return super().wrap_tool_call(request, handler)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Share the run's files while the tool runs."""
        with _shared_files(request):
            return await super().awrap_tool_call(request, handler)


def _shortened(tool: BaseTool, *, lean: bool) -> BaseTool:
    """The tool with our short words; `execute`, and `grep` beside it, keep upstream's."""
    if tool.name not in _SHORT or not isinstance(tool, StructuredTool):
        return tool
    description, hidden, words = _SHORT[tool.name]
    if lean:
        description = _LEAN_WORDS.get(tool.name, description)
        hidden = (*hidden, *_LEAN_HIDDEN.get(tool.name, ()))
    if tool.description == GREP_TOOL_DESCRIPTION:
        description = tool.description
    return shortened(tool, description=description, hidden=hidden, words=words)


def _settle(state: Any) -> None:
    """Settle files, in the main agent only: subagents run within its steps."""
    run_id = state.get("run_id")
    if run_id and "|" not in _namespace():
        settle(run_id)


def _shared_files(request: ToolCallRequest) -> AbstractContextManager[object]:
    run_id = request.state.get("run_id")
    return share(run_id, _namespace()) if run_id else nullcontext()


def _namespace() -> str:
    info = get_runtime().execution_info
    return info.checkpoint_ns if info else ""
