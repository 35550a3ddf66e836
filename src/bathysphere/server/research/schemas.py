"""Schemas of seed 002's research API: camel case on the wire."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from bathysphere.agents.research.attachments import MAX_PASSAGES, DocumentPassage

Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class Wire(BaseModel):
    """A model with camel case on the wire; unknown fields are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class ResearchCreate(Wire):
    """A research question, with context from the person's own knowledge store."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8_000)]
    documents: Annotated[list[DocumentPassage], Field(max_length=MAX_PASSAGES)] = []
    retrieved_context: Annotated[str, Field(max_length=200_000)] = ""
    context_urls: Annotated[list[Url], Field(max_length=20)] = []
    thread_id: UUID | None = Field(default=None, description="Continue in this thread.")
    max_plan_revisions: Annotated[int, Field(ge=1, le=10)] | None = None


class ResearchApprove(Wire):
    """A person's decision on a plan."""

    thread_id: UUID
    action: Literal["approve", "edit", "reject"] = Field(
        default="approve", validation_alias=AliasChoices("action", "decision", "type")
    )
    plan: dict[str, Any] | None = Field(default=None, description="The edited plan.")
    plan_hash: str | None = Field(default=None, description="Hash of the approved plan.")
    reason: Annotated[str, Field(max_length=4_000)] | None = None


class ModelLoad(Wire):
    """The model to load; only the operator's is allowed."""

    model_id: str | None = None
