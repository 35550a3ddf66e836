"""File approvals: an approved change is applied exactly as shown, to the version shown.

A change to a file waits for the person, who sees the diff. The interrupt carries the version under
`bound`; the engine copies it into the answer, whatever the client sent. The change is applied to
that version or not at all; if the file changed meanwhile, the person is asked again with the new
diff. Deleting a folder lists the files to be deleted, and deletes exactly those. Each change is
recorded with its approver. The result says what the person decided in its `additional_kwargs`, for
clients to show.

The question shows the reasons of flow control, too, and its answer counts for every layer within.

Order: among the agent's own layers, outside Failures. State: `file_decisions`, which a subagent
hands to the agent that started it. Answers: approve, edit (the same file), reject with a reason.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from deepagents.middleware.filesystem import FilesystemMiddleware, FilesystemPermission
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from bathysphere.backends.conditional import (
    ABSENT,
    ConditionalBackend,
    Expectation,
    VersionedBackend,
    require_versions,
)
from bathysphere.backends.object_store.backend import ObjectStoreBackend
from bathysphere.backends.object_store.changes import (
    MAX_DIFFERENCE,
    MAX_KEPT_BYTES,
    Action,
    Change,
    ChangeLog,
    Difference,
    difference,
)
from bathysphere.backends.object_store.folders import describe_files, token_of
from bathysphere.core.errors import BathysphereError
from bathysphere.core.run_context import context_of
from bathysphere.flow import consent
from bathysphere.middleware.file_approvals.contents import Seen, after_call, digest
from bathysphere.middleware.file_approvals.decisions import Approve, Bound, Decision, Edit, Reject
from bathysphere.middleware.file_approvals.reported import (
    FileDecisionsState,
    decisions_in,
    with_decision,
)
from bathysphere.tenancy.paths import canonical
from bathysphere.upstream import CONFIG_KEY_SCRATCHPAD

ToolResult = ToolMessage | Command[Any]

# ── text for the person and the model ──

REJECTED = "The person rejected `{name}` of {path}{reason}. Nothing was changed."
UNBOUND = "The approval does not say which version of {path} it is for. Nothing was changed."
OTHER_FILE = "The person's edit names another file than {path}. Nothing was changed."
KEEPS_CHANGING = "{path} changed each time the person had approved. Nothing was changed; tell them."
APPLIED = "The change of {path} that the person approved was made."
EDITED = "The person changed your call before approving it. Executed instead: {args}\n\n"
TOO_LONG = (
    "Error: the change of {path} is too long for a person to review: its difference has more than "
    "{most} characters. Nothing was changed. Make it in several smaller edits."
)
MAX_ROUNDS = 10

ACTIONS: dict[str, Action] = {"write_file": "write", "edit_file": "edit", "delete": "delete"}


class FileApprovalsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before a file is changed, and applies exactly the change that was shown."""

    state_schema = FileDecisionsState

    def __init__(
        self,
        files: VersionedBackend,
        *,
        free: tuple[str, ...] = (),
        permissions: Sequence[FilesystemPermission] = (),
    ) -> None:
        super().__init__()
        self._files = require_versions(files)
        self._free = free
        self._permissions = list(permissions)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Report the decisions to the agent that started this one."""
        return decisions_in(state["messages"])

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Report the decisions to the agent that started this one."""
        return self.after_agent(state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Ask, then apply the change; changes are recorded only in async runs."""
        if not self._is_gated(request):
            return handler(request)
        for round_ in range(MAX_ROUNDS):
            approved = self._ask(request, round_)
            if isinstance(approved, ToolMessage):
                return approved
            if approved.is_applied:
                return approved.applied_message()
            expect = approved.expectation()
            result = handler(self._bind(approved, expect))
            if not expect.was_refused:
                return approved.report(result)
        return _message(request, KEEPS_CHANGING.format(path=_path(request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Ask, apply the change and record it."""
        if not self._is_gated(request):
            return await handler(request)
        log: ChangeLog | None = context_of(request.runtime).changes
        for round_ in range(MAX_ROUNDS):
            approved = await asyncio.to_thread(self._ask, request, round_)
            if isinstance(approved, ToolMessage):
                return approved
            if approved.is_applied:
                if log is not None:
                    await self._record(log, approved, was_refused=False)
                return approved.applied_message()
            if log is not None:
                await self._begin(log, approved, request)
            expect = approved.expectation()
            result = await handler(self._bind(approved, expect))
            if log is not None:
                await self._record(log, approved, was_refused=expect.was_refused)
            if not expect.was_refused:
                return approved.report(result)
        return _message(request, KEEPS_CHANGING.format(path=_path(request)))

    def _bind(self, approved: "_Approved", expect: Expectation) -> ToolCallRequest:
        """Let the approved call run on the expected version only."""
        files = ConditionalBackend(self._files, expect)
        layer = FilesystemMiddleware(backend=files, permissions=self._permissions or None)
        tool = next(tool for tool in layer.tools if tool.name == approved.name)
        return approved.request.override(tool=tool)

    async def _begin(self, log: ChangeLog, approved: "_Approved", request: ToolCallRequest) -> None:
        """Record the pending changes: one entry per file."""
        shown = approved.bound.files
        for path in [p for p in approved.seen.below if p in shown] if shown else [approved.path]:
            seen = await asyncio.to_thread(self._seen, path) if shown else approved.seen
            approver = context_of(request.runtime).user
            await log.begin(approved.change(path, seen, _workspace(request), approver))

    async def _record(self, log: ChangeLog, approved: "_Approved", *, was_refused: bool) -> None:
        """Finish the entries of applied changes and drop the others."""
        for path in approved.bound.files or (approved.path,):
            after = await asyncio.to_thread(self._seen, path)
            is_made = digest(after.data) == approved.result
            if is_made and (not was_refused or approved.bound.files):
                await log.finish(approved.entry(path), after_version=after.version)
            else:
                await log.drop(approved.entry(path))

    # ── one round ──

    def _is_gated(self, request: ToolCallRequest) -> bool:
        if request.tool_call["name"] not in ACTIONS:
            return False
        return not any(str(_path(request)).startswith(prefix) for prefix in self._free)

    def _ask(self, request: ToolCallRequest, round_: int) -> "_Approved | ToolMessage":
        call = request.tool_call
        try:
            path = canonical(str(_path(request)).removesuffix("/"))
            seen = self._current_state(call["name"], path)
        except BathysphereError as error:
            return _message(request, f"Error: {error}")
        after = after_call(call["name"], call["args"], seen)
        if isinstance(after, str) and not _is_answered(round_):
            return _message(request, after)  # it cannot be applied, so do not ask
        shown = None if isinstance(after, str) else after
        change = difference(path, seen.data, shown)
        if seen.below:
            change = Difference(text=describe_files(path, seen.below), is_whole=True)
        # Except for deletions, the person must be able to review the whole diff.
        if not (change.is_whole or call["name"] == "delete" or _is_answered(round_)):
            return _message(request, TOO_LONG.format(path=path, most=f"{MAX_DIFFERENCE:,}"))
        question = _question(request, path, seen, shown, change, is_again=round_ > 0)
        decision = _decided(question)
        if isinstance(decision, Reject):
            consent.report(call, "refused")
            reason = f": {decision.message}" if decision.message else ""
            text = REJECTED.format(name=call["name"], path=path, reason=reason)
            return with_decision(_message(request, text), "reject", path)
        if decision.bound is None:
            return _message(request, UNBOUND.format(path=path))
        if isinstance(decision, Edit):
            return self._edited(request, decision, path, seen)
        consent.report(call, "approved")
        return _Approved(request, path, seen, decision.bound, decision.bound.result, None)

    def _edited(
        self, request: ToolCallRequest, decision: Edit, path: str, seen: Seen
    ) -> "_Approved | ToolMessage":
        action, bound = decision.edited_action, cast("Bound", decision.bound)
        call = {**request.tool_call, "name": action.name, "args": action.args}
        to_run = request.override(tool_call=cast("Any", call))
        is_same = action.name == request.tool_call["name"] and _same_file(to_run, path)
        if not is_same:
            return _message(request, OTHER_FILE.format(path=path))
        after = after_call(action.name, action.args, seen)
        result = "" if isinstance(after, str) else digest(after)
        consent.report(to_run.tool_call, "approved")
        return _Approved(to_run, path, seen, bound, result, action.args)

    def _current_state(self, name: str, path: str) -> Seen:
        """The current state of a path: a file, a folder to be deleted, or nothing.

        Raises:
            BathysphereError: The path is invalid or inaccessible.
        """
        seen = self._seen(path)
        if seen.data is not None or not isinstance(self._files, ObjectStoreBackend):
            return seen
        if name == "write_file":
            self._files.refuse_conflict(path)
        below = self._files.seen_below(path) if name == "delete" else {}
        return Seen(token_of(below), None, below) if below else seen

    def _seen(self, path: str) -> Seen:
        found = self._files.seen(path)
        return Seen(found[0], found[1]) if found else Seen(ABSENT, None)


@dataclass(frozen=True, slots=True)
class _Approved:
    """A change that the person approved."""

    request: ToolCallRequest
    path: str
    seen: Seen
    bound: Bound
    result: str
    edited: dict[str, Any] | None

    @property
    def name(self) -> str:
        return self.request.tool_call["name"]

    @property
    def call(self) -> str:
        return str(self.request.tool_call["id"])

    @property
    def is_applied(self) -> bool:
        """Whether the change was already applied, by an earlier execution of the step."""
        if self.bound.files:
            return self.seen.data is None and not self.seen.below
        is_made = self.result != "" and digest(self.seen.data) == self.result
        return is_made and self.seen.version != self.bound.version

    def applied_message(self) -> ToolResult:
        text = APPLIED.format(path=self.path)
        return self.report(_message(self.request, text, status="success"))

    def expectation(self) -> Expectation:
        """The version, or the files of a folder, that the change is bound to."""
        return Expectation(self.bound.version, self.bound.files)

    def entry(self, path: str) -> str:
        """The key of a file's entry in the change log."""
        return f"{self.call} {path}" if self.bound.files else self.call

    def change(self, path: str, seen: Seen, workspace: str, approver: str) -> Change:
        data = seen.data
        return Change(
            workspace=workspace,
            call=self.entry(path),
            action=ACTIONS[self.name],
            path=path,
            before_version=seen.version,
            before=data if data is None or len(data) <= MAX_KEPT_BYTES else None,
            approver=approver,
        )

    def report(self, result: ToolResult) -> ToolResult:
        """The result with the person's decision, and a notice if they edited the call."""
        if not isinstance(result, ToolMessage):
            return result
        if self.edited is None:
            lines = {"added": self.bound.added, "removed": self.bound.removed}
            return with_decision(result, "approve", self.path, **lines)
        text = EDITED.format(args=self.edited) + str(result.content)
        return with_decision(result.model_copy(update={"content": text}), "edit", self.path)


def _question(
    request: ToolCallRequest,
    path: str,
    seen: Seen,
    after: bytes | None,
    change: Difference,
    *,
    is_again: bool,
) -> dict[str, Any]:
    call = request.tool_call
    return {
        "type": "tool_approval",
        "tool_call_id": call["id"],
        "name": call["name"],
        "args": call["args"],
        "description": change.text,
        "path": path,
        "version": seen.version,
        "diff": change.text,
        "added": change.added,
        "removed": change.removed,
        "again": is_again,
        "bound": {
            "version": seen.version,
            "result": digest(after),
            "files": seen.files,
            "added": change.added,
            "removed": change.removed,
        },
        **consent.explanation(str(call["id"])).fields,
    }


def _decided(value: dict[str, Any]) -> Approve | Edit | Reject:
    decision: Approve | Edit | Reject = interrupt(value, response_schema=cast("Any", Decision))
    return decision


def _is_answered(round_: int) -> bool:
    """Whether this round was already answered, in an earlier execution of the step."""
    pad = get_config()["configurable"].get(CONFIG_KEY_SCRATCHPAD)
    return pad is not None and (len(pad.resume) > round_ or pad.get_null_resume(False) is not None)


def _path(request: ToolCallRequest) -> Any:
    return request.tool_call["args"].get("file_path", "")


def _same_file(request: ToolCallRequest, path: str) -> bool:
    try:
        return canonical(str(_path(request)).removesuffix("/")) == path
    except BathysphereError:
        return False


def _message(
    request: ToolCallRequest, text: str, *, status: Literal["success", "error"] = "error"
) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)


def _workspace(request: ToolCallRequest) -> str:
    pin = request.state.get("workspace_pin") or {}
    return str(pin.get("workspace", ""))
