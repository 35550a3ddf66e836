"""File approvals: what a person approves is what is written, on the version they were shown.

A change of a file waits for the person, who sees the difference. The question carries the version
it was made for under `bound`; the engine puts that into the answer, whatever the client sent. The
change then happens on that version or not at all. If the file changed in between, the question
comes again with the new difference. Each change is written down with who approved it.

Order: among the agent's own layers, outside Failures. No state. Answers: approve, edit (the same
file), reject with a reason.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import perform_string_replacement
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ConfigDict, Discriminator, Field

from bathysphere.backends.object_store.expecting import ABSENT, expecting
from bathysphere.core.errors import BathysphereError
from bathysphere.tenancy.changes import MAX_KEPT_BYTES, Action, Change, ChangeLog, difference
from bathysphere.tenancy.paths import canonical

ToolResult = ToolMessage | Command[Any]

# ── words to the person and the model ──

REJECTED = "The person rejected `{name}` of {path}{reason}. Nothing was changed."
UNBOUND = "The approval does not say which version of {path} it is for. Nothing was changed."
OTHER_FILE = "The person's edit names another file than {path}. Nothing was changed."
RESTLESS = "{path} changed each time the person had approved. Nothing was changed; tell them."
LANDED = "The change of {path} that the person approved was made."
EDITED = "The person changed your call before approving it. Executed instead: {args}\n\n"
NO_FILE = "Error: there is no such file. A folder is removed file by file."
MAX_ROUNDS = 10

ACTIONS: dict[str, Action] = {"write_file": "write", "edit_file": "edit", "delete": "delete"}


class Bound(BaseModel):
    """What was shown: the version of the file, and what the change would make of it."""

    model_config = ConfigDict(extra="forbid")
    version: str
    result: str


class _Decision(BaseModel):
    model_config = ConfigDict(extra="forbid")
    bound: Bound | None = None


class Approve(_Decision):
    """Do it."""

    type: Literal["approve"]


class EditedAction(BaseModel):
    """The call as the person wants it."""

    name: Literal["write_file", "edit_file", "delete"]
    args: dict[str, Any]


class Edit(_Decision):
    """Do this instead, to the same file."""

    type: Literal["edit"]
    edited_action: EditedAction


class Reject(_Decision):
    """Do not."""

    type: Literal["reject"]
    message: str = Field(default="", max_length=20_000)


Decision = Annotated[Approve | Edit | Reject, Discriminator("type")]


@dataclass(frozen=True, slots=True)
class _Seen:
    version: str
    data: bytes | None


class FileApprovalsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before a file is changed, and holds the change to what was shown."""

    def __init__(self, files: BackendProtocol, *, free: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._files = files
        self._free = free

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Ask, then change what was shown. Changes are written down in async runs only."""
        if not self._is_gated(request):
            return handler(request)
        for round_ in range(MAX_ROUNDS):
            asked = self._ask(request, round_)
            if isinstance(asked, ToolMessage):
                return asked
            if asked.has_landed:
                return asked.landed()
            with expecting(asked.path, asked.bound.version) as expected:
                result = handler(asked.request)
            if not expected.was_refused:
                return asked.told(result)
        return _message(request, RESTLESS.format(path=_path(request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Ask, change what was shown, and write it down."""
        if not self._is_gated(request):
            return await handler(request)
        log = _log_of(request)
        for round_ in range(MAX_ROUNDS):
            asked = await asyncio.to_thread(self._ask, request, round_)
            if isinstance(asked, ToolMessage):
                return asked
            if asked.has_landed:
                if log is not None:
                    await log.finish(asked.call, after_version=asked.seen.version)
                return asked.landed()
            if log is not None:
                await log.begin(asked.change(_workspace(request), _user(request)))
            with expecting(asked.path, asked.bound.version) as expected:
                result = await handler(asked.request)
            if log is not None:
                await self._write_down(log, asked, was_refused=expected.was_refused)
            if not expected.was_refused:
                return asked.told(result)
        return _message(request, RESTLESS.format(path=_path(request)))

    async def _write_down(self, log: ChangeLog, asked: "_Asked", *, was_refused: bool) -> None:
        after = await asyncio.to_thread(self._seen, asked.path)
        if not was_refused and _digest(after.data) == asked.result:
            await log.finish(asked.call, after_version=after.version)
        else:
            await log.drop(asked.call)

    # ── one round ──

    def _is_gated(self, request: ToolCallRequest) -> bool:
        if request.tool_call["name"] not in ACTIONS:
            return False
        return not any(str(_path(request)).startswith(prefix) for prefix in self._free)

    def _ask(self, request: ToolCallRequest, round_: int) -> "_Asked | ToolMessage":
        call = request.tool_call
        try:
            path = canonical(str(_path(request)).removesuffix("/"))
            seen = self._seen(path)
        except BathysphereError as error:
            return _message(request, f"Error: {error}")
        after = _after(call["name"], call["args"], seen.data)
        if isinstance(after, str) and not _is_answered(round_):
            return _message(request, after)  # it cannot be done: nobody is bothered with it
        shown = None if isinstance(after, str) else after
        decision = _decided(_question(request, path, seen, shown, is_again=round_ > 0))
        if isinstance(decision, Reject):
            reason = f": {decision.message}" if decision.message else ""
            return _message(request, REJECTED.format(name=call["name"], path=path, reason=reason))
        if decision.bound is None:
            return _message(request, UNBOUND.format(path=path))
        if isinstance(decision, Edit):
            return self._edited(request, decision, path, seen)
        return _Asked(request, path, seen, decision.bound, decision.bound.result, None)

    def _edited(
        self, request: ToolCallRequest, decision: Edit, path: str, seen: _Seen
    ) -> "_Asked | ToolMessage":
        action, bound = decision.edited_action, cast("Bound", decision.bound)
        call = {**request.tool_call, "name": action.name, "args": action.args}
        to_run = request.override(tool_call=cast("Any", call))
        is_same = action.name == request.tool_call["name"] and _same_file(to_run, path)
        if not is_same:
            return _message(request, OTHER_FILE.format(path=path))
        after = _after(action.name, action.args, seen.data)
        result = "" if isinstance(after, str) else _digest(after)
        return _Asked(to_run, path, seen, bound, result, action.args)

    def _seen(self, path: str) -> _Seen:
        look = getattr(self._files, "seen", None)
        if look is not None:
            found = look(path)
            return _Seen(found[0], found[1]) if found else _Seen(ABSENT, None)
        [answer] = self._files.download_files([path])
        return _Seen(_digest(answer.content), answer.content)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A change that the person approved."""

    request: ToolCallRequest
    path: str
    seen: _Seen
    bound: Bound
    result: str
    edited: dict[str, Any] | None

    @property
    def call(self) -> str:
        return str(self.request.tool_call["id"])

    @property
    def has_landed(self) -> bool:
        """Whether it was made already: the step that made it is run again."""
        is_made = self.result != "" and _digest(self.seen.data) == self.result
        return is_made and self.seen.version != self.bound.version

    def landed(self) -> ToolMessage:
        return _message(self.request, LANDED.format(path=self.path), status="success")

    def change(self, workspace: str, approver: str) -> Change:
        data = self.seen.data
        return Change(
            workspace=workspace,
            call=self.call,
            action=ACTIONS[self.request.tool_call["name"]],
            path=self.path,
            before_version=self.seen.version,
            before=data if data is None or len(data) <= MAX_KEPT_BYTES else None,
            approver=approver,
        )

    def told(self, result: ToolResult) -> ToolResult:
        """The result, with a word on what the person changed."""
        if self.edited is None or not isinstance(result, ToolMessage):
            return result
        text = EDITED.format(args=self.edited) + str(result.content)
        return result.model_copy(update={"content": text})


def _question(
    request: ToolCallRequest, path: str, seen: _Seen, after: bytes | None, *, is_again: bool
) -> dict[str, Any]:
    call = request.tool_call
    diff = difference(path, seen.data, after)
    return {
        "type": "tool_approval",
        "tool_call_id": call["id"],
        "name": call["name"],
        "args": call["args"],
        "description": diff,
        "path": path,
        "version": seen.version,
        "diff": diff,
        "again": is_again,
        "bound": {"version": seen.version, "result": _digest(after)},
    }


def _decided(value: dict[str, Any]) -> Approve | Edit | Reject:
    decision: Approve | Edit | Reject = interrupt(value, response_schema=cast("Any", Decision))
    return decision


def _is_answered(round_: int) -> bool:
    """Whether this round's question was asked and answered before: the step is run again."""
    pad = get_config()["configurable"].get(CONFIG_KEY_SCRATCHPAD)
    return pad is not None and (len(pad.resume) > round_ or pad.get_null_resume(False) is not None)


def _after(name: str, args: Mapping[str, Any], before: bytes | None) -> bytes | str | None:
    """What the file would hold; None for none; a text says why it cannot be done."""
    if name == "delete":
        return None if before is not None else NO_FILE
    if name == "write_file":
        return str(args.get("content", "")).encode("utf-8", "replace")
    if before is None:
        return NO_FILE
    try:
        text = before.decode()
    except UnicodeDecodeError:
        return "Error: Cannot edit binary files with text replacements."
    old, new = str(args.get("old_string", "")), str(args.get("new_string", ""))
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    replaced = perform_string_replacement(text, old, new, bool(args.get("replace_all")))
    return replaced if isinstance(replaced, str) else replaced[0].encode("utf-8", "replace")


def _digest(data: bytes | None) -> str:
    return ABSENT if data is None else hashlib.sha256(data).hexdigest()


def _path(request: ToolCallRequest) -> Any:
    return request.tool_call["args"].get("file_path", "")


def _same_file(request: ToolCallRequest, path: str) -> bool:
    try:
        return canonical(str(_path(request)).removesuffix("/")) == path
    except BathysphereError:
        return False


def _message(request: ToolCallRequest, text: str, *, status: str = "error") -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=cast("Any", status))


def _log_of(request: ToolCallRequest) -> ChangeLog | None:
    context: Any = request.runtime.context
    if context is None or isinstance(context, Mapping):
        return None
    return cast("ChangeLog | None", getattr(context, "changes", None))


def _user(request: ToolCallRequest) -> str:
    return str(getattr(request.runtime.context, "user", ""))


def _workspace(request: ToolCallRequest) -> str:
    pin = request.state.get("workspace_pin") or {}
    return str(pin.get("workspace", ""))
