"""Flow: what an agent read may inform what it says, but cannot steer what it does.

At the first model call of a run a planning call turns the person's words into steps. The calls of
each model turn are judged when the model asks for them, in order, and the verdicts are stored: no
restart, repeated step or parallel call changes them. A call that may not run unasked waits for the
person, who sees where its values came from. The rule is `flow.judge`.

Order: in place of Approvals, whose questions it takes over so that each call is asked about once.
Layers outside that ask show its reasons and report the answer (`flow.consent`). The planning call
is counted and paid for by the layers inside. State: `flow`, `flow_calls`.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from bathysphere.core.ids import new_id
from bathysphere.core.usage import preliminary
from bathysphere.flow import Call, FlowPolicy, Ledger, Reason, ToolFlow, consent, ledger, merge
from bathysphere.flow.ledger import Entries, additions
from bathysphere.flow.provenance import explain, trusts
from bathysphere.middleware.flow.answers import with_known_links
from bathysphere.middleware.flow.claims import claims
from bathysphere.middleware.flow.planning import heard, planning, read_plan
from bathysphere.middleware.flow.question import Question, is_answered, is_gated, sentences
from bathysphere.middleware.flow.results import (
    is_opaque,
    learned,
    message_of,
    read_before,
    sources,
    with_additions,
)
from bathysphere.middleware.flow.state import Decided, FlowState, SubagentFlowState
from bathysphere.models.declared_tool import DeclaredTool
from bathysphere.models.tool_names import tool_name

ToolResult = ToolMessage | Command[Any]
Rule = bool | InterruptOnConfig

# ── text for the model ──

REFUSED = (
    "Not executed: the person did not ask for this call of `{name}` before untrusted text was "
    "read. Do not try it again; tell them what you wanted to do."
)


class FlowMiddleware(AgentMiddleware[FlowState, Any, Any]):
    """Asks before a call that the person's words do not vouch for."""

    state_schema = FlowState

    def __init__(
        self,
        policy: FlowPolicy,
        *,
        approvals: Mapping[str, Rule] | None = None,
        opaque: Collection[str] = (),
        is_subagent: bool = False,
    ) -> None:
        """Create the layer.

        Args:
            policy: What the tools do.
            approvals: Tools that need approval anyway.
            opaque: Subagents that keep no ledger.
            is_subagent: Whether the agent gets its ledger from another.
        """
        super().__init__()
        self.policy = policy
        self._approvals = dict(approvals or {})
        self._opaque = frozenset(opaque)
        if is_subagent:
            self.state_schema = SubagentFlowState

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Make the plan of the run, call the model and judge its calls."""
        policy = self._policy_with(request.tools)
        turn = _Turn.of(request, policy)
        if _needs_plan(request, turn, policy):
            with preliminary():
                turn.plan(handler(planning(request, policy)))
        return _decided(handler(request), turn, policy)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Make the plan of the run, call the model and judge its calls."""
        policy = self._policy_with(request.tools)
        turn = _Turn.of(request, policy)
        if _needs_plan(request, turn, policy):
            with preliminary():
                turn.plan(await handler(planning(request, policy)))
        return _decided(await handler(request), turn, policy)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Run a call, after a question if needed, and note what it brought."""
        if (given := consent.take(request.tool_call)) is not None:
            return self._approved(request, handler(request), is_shown=given == "approved")
        asked = self._question(request)
        if asked is None:
            return self._noted(request, handler(request))
        if isinstance(asked, ToolMessage):
            return self._unasked(request, asked)
        answer = _Answer(asked)

        def run(approved: ToolCallRequest) -> ToolResult:
            answer.approved = approved
            return handler(approved)

        return self._answered(request, asked.wrap_tool_call(request, run), answer)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run a call, after a question if needed, and note what it brought."""
        if (given := consent.take(request.tool_call)) is not None:
            return self._approved(request, await handler(request), is_shown=given == "approved")
        asked = self._question(request)
        if asked is None:
            return self._noted(request, await handler(request))
        if isinstance(asked, ToolMessage):
            return self._unasked(request, asked)
        answer = _Answer(asked)

        async def run(approved: ToolCallRequest) -> ToolResult:
            answer.approved = approved
            return await handler(approved)

        return self._answered(request, await asked.awrap_tool_call(request, run), answer)

    # ── questions of outer layers ──

    def explanation(
        self, request: ToolCallRequest, declared: ToolFlow | None
    ) -> consent.Explanation:
        """Why a call would be asked about, for the question of an outer layer."""
        if self._is_free(request):
            return consent.Explanation()
        name, policy = request.tool_call["name"], self.policy
        if declared is not None and name not in policy.tools:
            policy = replace(policy, tools={**policy.tools, name: declared})
        reasons = self._reasons(request, policy)
        return consent.Explanation(reasons, sentences(reasons))

    def finished(
        self, request: ToolCallRequest, result: ToolResult, answered: consent.Consent
    ) -> ToolResult:
        """The result with what the call adds; if an outer layer answered it, its step is free."""
        key, run, entries = _decision(request)["key"], _run(request.state), _entries(request.state)
        added, message = answered.added, message_of(result, request.tool_call)
        if not answered.is_reached and answered.answer == "refused":
            added = ledger.refused(run, key)
        elif not answered.is_reached and key in entries.get("claims", {}):
            is_over = answered.answer == "answered" or (message and message.status == "error")
            added = {"released": {key: True}} if is_over else {}
        return with_additions(result, added, entries) if added else result

    # ── tool calls ──

    def _question(self, request: ToolCallRequest) -> Question | ToolMessage | None:
        """The question about a call, its refusal, or None if it may run."""
        call = request.tool_call
        rule = self._approvals.get(call["name"])
        is_free, must_ask = self._is_free(request), is_gated(rule, request)
        if is_free and not must_ask:
            return None
        if not is_free and not must_ask and self._is_refused_unasked(request):
            return _message(request, REFUSED.format(name=call["name"]))
        reasons = [] if is_free else self._reasons(request, self._policy_with([request.tool]))
        return Question(call["name"], rule or None, reasons)

    def _is_free(self, request: ToolCallRequest) -> bool:
        """Whether a call may run unasked; what a server says of its tool now does not count."""
        known = self.policy.tools.get(request.tool_call["name"])
        return (known is not None and not known.is_gated) or _decision(request)["free"]

    def _policy_with(self, tools: Iterable[Any]) -> FlowPolicy:
        """The policy with tools that are known only now, such as those of MCP servers."""
        new = {
            tool.name: tool.flow
            for tool in tools
            if isinstance(tool, DeclaredTool) and tool.name not in self.policy.tools
        }
        return replace(self.policy, tools={**self.policy.tools, **new}) if new else self.policy

    def _is_refused_unasked(self, request: ToolCallRequest) -> bool:
        if is_answered():
            return False
        most = self.policy.quiet_after
        refusals = Ledger(_entries(request.state)).refusals(_run(request.state))
        return self.policy.unplanned == "refuse" or (most is not None and refusals >= most)

    def _reasons(self, request: ToolCallRequest, policy: FlowPolicy) -> list[dict[str, Any]]:
        """Why the call is asked about, with the sources of its values."""
        state, decision = request.state, _decision(request)
        call = Call(decision["key"], request.tool_call["name"], request.tool_call["args"])
        found = claims.of(_run(state)).explain(call, _entries(state), policy)
        return explain(found.reasons or [Reason("used_up")], sources(state["messages"]))

    def _noted(
        self, request: ToolCallRequest, result: ToolResult, added: Entries | None = None
    ) -> ToolResult:
        """The result, with what it adds to the ledger."""
        entries, call, run = _entries(request.state), request.tool_call, _run(request.state)
        policy = self._policy_with([request.tool])
        new = merge(added, learned(result, call, entries, policy, run=run))
        if is_opaque(call, self._opaque):
            new = merge(new, ledger.marked("untrusted"))
        return _with(result, new, request)

    def _answered(
        self, request: ToolCallRequest, result: ToolResult, answer: "_Answer"
    ) -> ToolResult:
        """The result of a call that was asked about, with the answer in the ledger."""
        if answer.approved is not None:
            added = _trusts(request, answer)
            return self._approved(answer.approved, result, is_shown=True, added=added)
        run, key = _run(request.state), _decision(request)["key"]
        message = message_of(result, request.tool_call)
        is_refusal = message is None or message.status == "error"
        released = ledger.refused(run, key) if is_refusal else {"released": {key: True}}
        return _with(result, released, request)

    def _approved(
        self,
        request: ToolCallRequest,
        result: ToolResult,
        *,
        is_shown: bool,
        added: Entries | None = None,
    ) -> ToolResult:
        """The result of a call that the person approved; if they saw it, also its values."""
        if not is_shown:
            return self._noted(request, result)
        call, policy = request.tool_call, self._policy_with([request.tool])
        kinds = policy.of(call["name"]).arguments
        approved = ledger.approved(_run(request.state), call["name"], call["args"], kinds)
        return self._noted(request, result, merge(approved, added))

    def _unasked(self, request: ToolCallRequest, message: ToolMessage) -> ToolResult:
        """The refusal of a call that nobody was asked about."""
        released = {"released": {_decision(request)["key"]: True}}
        return _with(message, released, request)


@dataclass
class _Answer:
    """What the person answered: the call that they let run, if any."""

    question: Question
    approved: ToolCallRequest | None = None


@dataclass
class _Turn:
    """A model turn: whose it is, and what is known before it."""

    run: str
    is_main: bool
    known: Entries
    added: Entries = field(default_factory=dict)
    messages: Sequence[AnyMessage] = ()

    @classmethod
    def of(cls, request: ModelRequest[Any], policy: FlowPolicy) -> "_Turn":
        known, is_main = _entries(request.state), not _is_nested(request.runtime)
        messages = request.state["messages"]
        # Only a main agent's messages are the person's; a subagent's task is the model's text.
        new, written = heard(messages) if is_main else {}, _written(request.state)
        if is_main and not written:
            new = merge(new, read_before(messages, policy))
        # Subagents have the ledger alone, so what the person took back is written to it.
        new = merge(new, _revoked(request.state))
        return cls(_run(request.state), is_main, known, additions(new, written), messages)

    @property
    def entries(self) -> Entries:
        return merge(self.known, self.added)

    @property
    def is_planned(self) -> bool:
        return Ledger(self.known).is_planned(self.run)

    def plan(self, response: ModelResponse[Any]) -> None:
        self.added = merge(self.added, ledger.planned(self.run, read_plan(response)))


def _trusts(request: ToolCallRequest, answer: _Answer) -> Entries:
    """The trust of the person in sources that the question showed."""
    known, asked = sources(request.state["messages"]), answer.question
    return trusts(_decision(request)["key"], asked.trusted, asked.reasons, known)


def _needs_plan(request: ModelRequest[Any], turn: _Turn, policy: FlowPolicy) -> bool:
    if not turn.is_main or policy.planner == "none" or turn.is_planned:
        return False
    return any(policy.of(tool_name(tool)).is_gated for tool in request.tools)


def _decided(
    response: ModelResponse[Any], turn: _Turn, policy: FlowPolicy
) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    """Judge the calls of an answer, and write the verdicts down."""
    asked = [call for m in response.result for call in getattr(m, "tool_calls", ())]
    calls = [Call(new_id("call"), call["name"], call["args"]) for call in asked]
    verdicts, made = claims.of(turn.run).decide(calls, turn.entries, policy, is_main=turn.is_main)
    update: dict[str, Any] = {}
    if asked:
        update["flow_calls"] = {
            str(one["id"]): Decided(key=call.key, digest=consent.digest(one), free=verdict.is_free)
            for one, call, verdict in zip(asked, calls, verdicts, strict=True)
        }
    else:
        response, quoted = with_known_links(response, turn.messages, turn.entries)
        made = made if turn.is_main else merge(made, quoted)
    if new := merge(turn.added, made):
        update["flow"] = new
    if not update:
        return response
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _with(result: ToolResult, added: Entries, request: ToolCallRequest) -> ToolResult:
    """The result with additions to the ledger, unless an outer layer writes them."""
    if isinstance(result, ToolMessage) and consent.leave(request.tool_call, added):
        return result
    return with_additions(result, added, _entries(request.state))


def _entries(state: Any) -> Entries:
    return merge(_written(state), _revoked(state))


def _written(state: Any) -> Entries:
    found: Entries = state.get("flow") or {}
    return found


def _revoked(state: Any) -> Entries:
    """The trusts that the person took back."""
    return ledger.revoked(state.get("flow_revoked") or {})


def _run(state: Any) -> str:
    return str(state.get("run_id") or "")


def _decision(request: ToolCallRequest) -> Decided:
    """The verdict on a call; one that was not judged as it is now is not free."""
    call = request.tool_call
    found: Decided | None = (request.state.get("flow_calls") or {}).get(str(call["id"]))
    if found is not None and found["digest"] == consent.digest(call):
        return found
    key = found["key"] if found else f"unjudged {call['id']}"
    return Decided(key=key, digest="", free=False)


def _is_nested(runtime: Any) -> bool:
    """Whether this graph is a subagent: its namespace has a parent."""
    info = getattr(runtime, "execution_info", None)
    return info is None or "|" in info.checkpoint_ns


def _message(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
