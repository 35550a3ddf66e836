"""Client files: tools for the person's documents, which stay on their device.

Adds tools that list, read, search, write and patch documents. Each call pauses the run with an
interrupt of type `tool`, the format of LangChain's browser tools; the device runs the tool and
answers `{<tool call id>: result}` or `{<tool call id>: {"error": "..."}}`, validated before it is
saved. A write or patch carries what the device needs to show a diff; the person accepts all, part
or none of it, and the agent gets the outcome. A patch is bound to the version that the agent read.
Text that leaves the device is recorded in `disclosures`.

Order: among the agent's own layers. State: `file_versions`, `disclosures`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field, create_model

from bathysphere.core.writers import ByEngine
from bathysphere.flow import ToolFlow, flow
from bathysphere.middleware.client_files.wire import (
    Answered,
    Changed,
    Disclosure,
    Failed,
    FoundFiles,
    Hits,
    Matches,
    Window,
    disclosed,
    to_text,
    versions_seen,
)
from bathysphere.models.answers import PROPOSAL
from bathysphere.models.declared_tool import DeclaredTool

# ── text for the model ──

LIST = "List the person's own documents, which are on their device, apart from your files."
READ = """Read part of a document of the person: `limit` characters from `offset`. Read no more than
you need: it leaves their device and is shown to them."""
SEARCH = "Find passages in the person's documents by meaning."
GREP = "Find a literal text in the person's documents. `glob` narrows it to titles that match."
GLOB = "Find the person's documents whose title matches a pattern such as `*.md`."
WRITE = """Propose a new document. The person takes it whole, in part or not at all. `description`
says in one sentence what it is for."""
PATCH = """Propose a change to a document that you have read: `search`, copied to the letter and
found once, becomes `replace`. The result says what the person took of it; if they edited the
document since you read it, nothing is changed and you get the new text."""

LEAN: Mapping[str, str] = {
    "list_user_files": "List the person's documents.",
    "read_user_file": "Read `limit` characters of a document of the person from `offset`.",
    "search_user_files": "Find passages in the person's documents.",
    "write_user_file": "Propose a new document. `description` says in a sentence what it is for.",
    "patch_user_file": """Propose to replace `search`, copied to the letter, by `replace` in a
document that you have read. The result says what the person took.""",
}
"""The tools of the lean profile, which finds documents by listing and searching alone."""

READ_FIRST = "Read the document first: a change is bound to the version that you read."

MAX_CHARACTERS = 20_000

# ── state ──


def join_versions(left: dict[str, str] | None, right: dict[str, str] | None) -> dict[str, str]:
    """The newest version seen of each document."""
    return {**(left or {}), **(right or {})}


def join_disclosures(
    left: list[Disclosure] | None, right: list[Disclosure] | None
) -> list[Disclosure]:
    """All disclosures, each passage once even if its step was repeated."""
    known = {(d["call"], d["file"], d["start"]) for d in left or []}
    new = [d for d in right or [] if (d["call"], d["file"], d["start"]) not in known]
    return [*(left or []), *new]


class ClientFilesState(AgentState[Any]):
    """State of the Client files layer."""

    file_versions: NotRequired[Annotated[ByEngine[dict[str, str]], join_versions]]
    disclosures: NotRequired[Annotated[ByEngine[list[Disclosure]], join_disclosures]]


# ── tool arguments ──


class _List(BaseModel):
    file_type: str | None = Field(default=None, description="Only documents of this type.")


class _Read(BaseModel):
    file_id: str = Field(min_length=1)
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=8_000, ge=1, le=MAX_CHARACTERS)


class _Search(BaseModel):
    query: str = Field(min_length=1)
    top_k: int = Field(default=8, ge=1, le=20)


class _Grep(BaseModel):
    pattern: str = Field(min_length=1)
    glob: str | None = None
    case_sensitive: bool = False


class _Glob(BaseModel):
    pattern: str = Field(min_length=1)


class _Write(BaseModel):
    title: str = Field(min_length=1, max_length=300)
    content: str
    file_type: str = "markdown"
    description: str = Field(min_length=1, max_length=500)


class _Patch(BaseModel):
    file_id: str = Field(min_length=1)
    search: str = Field(min_length=1)
    replace: str
    description: str = Field(min_length=1, max_length=500)


_HIDDEN: Mapping[str, tuple[str, ...]] = {
    "list_user_files": ("file_type",),
    "search_user_files": ("top_k",),
    "grep_user_files": ("case_sensitive",),
    "write_user_file": ("file_type",),
}
"""Arguments that are accepted, but not shown: hardly a call uses them."""

_PRIVATE = flow(secret=True)
_PROPOSES = flow()
"""The device asks about each change, and shows it."""

_TOOLS: tuple[tuple[str, str, type[BaseModel], type[BaseModel], ToolFlow], ...] = (
    ("list_user_files", LIST, _List, FoundFiles, _PRIVATE),
    ("read_user_file", READ, _Read, Window, _PRIVATE),
    ("search_user_files", SEARCH, _Search, Hits, _PRIVATE),
    ("grep_user_files", GREP, _Grep, Matches, _PRIVATE),
    ("glob_user_files", GLOB, _Glob, FoundFiles, _PRIVATE),
    ("write_user_file", WRITE, _Write, Changed, _PROPOSES),
    ("patch_user_file", PATCH, _Patch, Changed, _PROPOSES),
)

# ── middleware ──


class ClientFilesMiddleware(AgentMiddleware[ClientFilesState, Any, Any]):
    """Provides tools for the person's documents, which run on their device."""

    state_schema = ClientFilesState

    def __init__(self, *, lean: bool = False) -> None:
        super().__init__()
        self.tools = [
            _tool(name, LEAN.get(name, words) if lean else words, schema, answers, declared)
            for name, words, schema, answers, declared in _TOOLS
            if not lean or name in LEAN
        ]


def _tool(
    name: str,
    description: str,
    schema: type[BaseModel],
    answers: type[BaseModel],
    declared: ToolFlow,
) -> BaseTool:
    def run(runtime: ToolRuntime, **args: Any) -> Command[Any]:
        if name == "patch_user_file":
            base = (runtime.state.get("file_versions") or {}).get(args["file_id"])
            if base is None:
                return _result(runtime, READ_FIRST, status="error")
            args["base_version"] = base
        return _handle(runtime, name, _ask(runtime, name, args, answers))

    return DeclaredTool.from_function(
        run,
        name=name,
        description=description,
        args_schema=schema,
        infer_schema=False,
        flow=declared,
        hidden=_HIDDEN.get(name, ()),
    )


def _ask(
    runtime: ToolRuntime, name: str, args: Mapping[str, Any], answers: type[BaseModel]
) -> Answered | Failed:
    """Pause until the device answers this call; the answer is validated before it is saved."""
    call_id = str(runtime.tool_call_id)
    given_args = {key: value for key, value in args.items() if value is not None}
    given_args = {
        key: v.model_dump() if isinstance(v, BaseModel) else v for key, v in given_args.items()
    }
    fields: dict[str, Any] = {"result": (answers | Failed, Field(alias=call_id))}
    schema: type[Any] = create_model("Answer", **fields)
    value = {"type": "tool", "tool_call": {"id": call_id, "name": name, "args": given_args}}
    result: Answered | Failed = interrupt(value, response_schema=schema).result
    return result


def _handle(runtime: ToolRuntime, name: str, answer: Answered | Failed) -> Command[Any]:
    if isinstance(answer, Failed):
        return _result(runtime, f"The person's device says: {answer.error}", status="error")
    call_id = str(runtime.tool_call_id)
    proposal = answer if isinstance(answer, Changed) else None
    return _result(
        runtime,
        to_text(answer),
        status="error" if proposal and proposal.changed_nothing else "success",
        proposal=proposal,
        file_versions=versions_seen(answer),
        disclosures=disclosed(answer, call=call_id, tool=name),
    )


def _result(
    runtime: ToolRuntime,
    text: str,
    *,
    status: Literal["success", "error"],
    proposal: Changed | None = None,
    **state: Any,
) -> Command[Any]:
    """A tool result for the model, with the outcome of a proposal attached for clients."""
    message = ToolMessage(text, tool_call_id=runtime.tool_call_id, status=status)
    if proposal is not None:
        told = {"status", "file_id", "version"}
        message.additional_kwargs[PROPOSAL] = proposal.model_dump(include=told)
    return Command(update={"messages": [message], **state})
