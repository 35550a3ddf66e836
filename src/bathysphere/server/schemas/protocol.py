"""Schemas of protocol v2. Unknown fields are allowed, because the protocol evolves."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Namespace = Annotated[list[str], Field(max_length=64)]
Strategy = Literal["reject", "enqueue", "interrupt", "rollback"]
Channel = Annotated[
    str,
    Field(
        pattern=r"^(values|updates|messages|tools|lifecycle|input|checkpoints|tasks|custom(:.+)?)$"
    ),
]
Tag = Annotated[str, Field(max_length=200)]
_INT8 = 2**63 - 1


class Open(BaseModel):
    """A model that allows unknown fields."""

    model_config = ConfigDict(extra="allow")


class Command(Open):
    """One command to a thread."""

    id: Annotated[int, Field(ge=0, le=_INT8)]
    method: str
    params: dict[str, Any] = Field(default_factory=dict)


class CommandAnswer(Open):
    """The response to a command."""

    type: Literal["success", "error"]
    id: int | None
    result: dict[str, Any] | None = None
    error: str | None = None
    message: str | None = None
    meta: dict[str, Any] | None = None


class Subscription(Open):
    """Channels and namespaces of a stream; the subscription lasts as long as the connection."""

    channels: Annotated[list[Channel], Field(min_length=1, max_length=64)]
    namespaces: Annotated[list[Namespace], Field(max_length=256)] | None = None
    depth: Annotated[int, Field(ge=0)] | None = None
    since: Annotated[int, Field(ge=0, le=_INT8)] | None = None


class RunConfig(Open):
    """The parts of a run's config that are used; others are ignored."""

    configurable: dict[str, Any] = Field(default_factory=dict)
    recursion_limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    tags: Annotated[list[Tag], Field(max_length=100)] | None = None


class RunStart(Open):
    """`run.start`."""

    assistant_id: str
    input: Any = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    multitask_strategy: Strategy | None = Field(
        default=None, validation_alias=AliasChoices("multitask_strategy", "multitaskStrategy")
    )


class Response(Open):
    """An answer to one question."""

    interrupt_id: str
    response: Any = None
    namespace: Namespace = Field(default_factory=list)


class Respond(Open):
    """`input.respond`, with one answer or several."""

    interrupt_id: str | None = None
    response: Any = None
    responses: Annotated[list[Response], Field(min_length=1, max_length=1000)] | None = None
    update: dict[str, Any] | None = None
    goto: Any = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None

    def answers(self) -> dict[str, Any]:
        """Answers by question id."""
        if self.responses is not None:
            return {entry.interrupt_id: entry.response for entry in self.responses}
        if self.interrupt_id is None:
            message = "Expected interrupt_id and response, or responses"
            raise ValueError(message)
        return {self.interrupt_id: self.response}


class Message(Open):
    """A message to inject."""

    role: Literal["user", "system"]
    content: str


class Inject(Open):
    """`input.inject`."""

    namespace: Namespace = Field(default_factory=list)
    message: Message


class StateGet(Open):
    """`state.get`."""

    namespace: Namespace = Field(default_factory=list)
    keys: list[str] | None = None


class ListCheckpoints(Open):
    """`state.listCheckpoints`."""

    namespace: Namespace = Field(default_factory=list)
    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    before: str | None = None


class Fork(Open):
    """`state.fork`."""

    checkpoint_id: str
    input: Any = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
