"""Research as seed 002's clients ask for it: camel case on the wire."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class Wire(BaseModel):
    """Camel case outside, snake case inside; unknown fields pass."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class ResearchCreate(Wire):
    """A question, and what the person's own knowledge store found for it."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8_000)]
    retrieved_context: Annotated[str, Field(max_length=200_000)] = ""
    context_urls: Annotated[list[Url], Field(max_length=20)] = []
    thread_id: UUID | None = Field(default=None, description="Go on in this thread.")
    max_plan_revisions: Annotated[int, Field(ge=1, le=10)] | None = None


class ResearchApprove(Wire):
    """What the person says to a plan."""

    thread_id: UUID
    action: Literal["approve", "edit", "reject"] = Field(
        default="approve", validation_alias=AliasChoices("action", "decision", "type")
    )
    plan: dict[str, Any] | None = Field(default=None, description="The plan as edited.")
    plan_hash: str | None = Field(default=None, description="What is approved, to be sure.")
    reason: Annotated[str, Field(max_length=4_000)] | None = None


class ModelLoad(Wire):
    """Which model to get ready; only the one that the operator chose can be."""

    model_id: str | None = None
