"""The question before a call that may not run unasked.

It is the question of approvals (`tool_approval`) with the reasons of flow control beside it, and
answered like any: approve, edit, reject, respond. A tool that an `approvals` entry gates as well is
asked about once.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Union, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import ApproveDecision
from langchain.agents.middleware.types import ToolCallRequest
from langgraph.config import get_config
from langgraph.types import interrupt
from pydantic import Discriminator, Field
from typing_extensions import TypedDict

from bathysphere.flow.sentences import sentence
from bathysphere.upstream import CONFIG_KEY_SCRATCHPAD, answer_message, decision_schema

DECISIONS: tuple[Literal["approve", "edit", "reject", "respond"], ...] = (
    "approve",
    "edit",
    "reject",
    "respond",
)


def sentences(reasons: Sequence[Mapping[str, Any]]) -> str:
    """The reasons as text, one per line."""
    return "\n".join(map(sentence, reasons))


class Approve(TypedDict):
    """Run it as it is."""

    type: Literal["approve"]
    trust: NotRequired[
        Annotated[
            list[str],
            Field(max_length=20, description="Sources to trust for the rest of this conversation."),
        ]
    ]


class Question(HumanInTheLoopMiddleware):
    """Asks about one call, as approvals do; an approval can also trust sources of its values."""

    def __init__(
        self, tool: str, rule: bool | InterruptOnConfig | None, reasons: Sequence[dict[str, Any]]
    ) -> None:
        config = InterruptOnConfig(allowed_decisions=list(DECISIONS))
        if isinstance(rule, dict):
            config = {**rule}
            config.pop("when", None)  # decided already
        if reasons and "description" not in config:
            config["description"] = sentences(reasons)
        super().__init__({tool: config}, interrupt_mode="per_call")
        self.reasons = list(reasons)
        self.trusted: list[str] = []
        """The sources that the person trusts from now on."""

    def _tool_approval_request(self, request: ToolCallRequest, config: InterruptOnConfig) -> Any:
        value = super()._tool_approval_request(request, config)
        return {**value, "flow": {"reasons": self.reasons}} if self.reasons else value

    def _resolve_per_call(self, request: ToolCallRequest) -> Any:
        """Ask as LangChain does, with one more field in an approval."""
        call = request.tool_call
        config = self.interrupt_on[call["name"]]
        value = self._tool_approval_request(request, config)
        schema = decision_schema(config["allowed_decisions"], call["name"], request.tool)
        decision: Any = interrupt(value, response_schema=_with_trust(schema))
        if decision["type"] == "approve":
            self.trusted = list(decision.get("trust", ()))
            return request, None
        if decision["type"] == "edit":
            executed = decision["edited_action"]
            return self._apply_edit(request, executed), executed
        return answer_message(call, decision)


def _with_trust(schema: Any) -> Any:
    """The schema of answers, in which an approval can trust sources."""
    answers = get_args(get_args(schema)[0]) if get_args(schema) else (schema,)
    new = tuple(Approve if answer is ApproveDecision else answer for answer in answers)
    return Annotated[Union[new], Discriminator("type")] if len(new) > 1 else new[0]  # noqa: UP007


def is_gated(rule: bool | InterruptOnConfig | None, request: ToolCallRequest) -> bool:
    """Whether an `approvals` entry asks about a call."""
    if not isinstance(rule, dict):
        return bool(rule)
    when = rule.get("when")
    # Who was asked is heard, whatever the condition says by now.
    return when is None or is_answered() or when(request)


def is_answered() -> bool:
    """Whether the person answered about this call in an earlier execution of its step."""
    pad = get_config()["configurable"].get(CONFIG_KEY_SCRATCHPAD)
    if pad is None:
        return False
    answer = pad.resume[0] if pad.resume else pad.get_null_resume(False)
    return isinstance(answer, dict) and answer.get("type") in DECISIONS
