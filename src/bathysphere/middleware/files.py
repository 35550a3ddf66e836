"""Files: file tools over a backend, safe for parallel edits by subagents.

deepagents' filesystem layer with changes: while a tool runs, scratch files are shared by the whole
tree (see `backends.scratch`), deletion markers are cleared when the next run starts, the `grep`
tool is not copied (with its schema rebuilt) for every model call, and messages of earlier turns are
not searched again for attachments of tool results and for evicted text.

Order: outermost, as in deepagents. State: `files`, `run_id`.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, NotRequired, TypeVar

from deepagents.backends.protocol import BackendProtocol, SandboxBackendProtocol
from deepagents.middleware.filesystem import (
    GREP_TOOL_DESCRIPTION,
    FilesystemMiddleware,
    FilesystemPermission,
)
from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from bathysphere.backends.scratch import merge_files, settle, share, tombstones
from bathysphere.core.writers import ByEngine, Writer
from bathysphere.models.history import human_messages

T = TypeVar("T")

# ── text for the model ──

GREP = """Search for a literal text pattern (not a regular expression) across files.

`path` narrows the search to a folder and `glob` to file names. `output_mode` is
`files_with_matches` (default), `content` (matching lines with numbers) or `count`."""

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
        self, backend: BackendProtocol, permissions: list[FilesystemPermission] | None = None
    ) -> None:
        # A custom description also keeps `grep` from being copied on every model call.
        grep = GREP_TOOL_DESCRIPTION if isinstance(backend, SandboxBackendProtocol) else GREP
        super().__init__(
            backend=backend, permissions=permissions, custom_tool_descriptions={"grep": grep}
        )
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
