"""Schemas of assistants, in LangGraph's format."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from bathysphere.server.schemas.protocol import Open, RunConfig
from bathysphere.server.schemas.threads import Limit, Metadata, Offset

Name = Annotated[str, Field(max_length=1000)]
Description = Annotated[str, Field(max_length=10_000)]


class AssistantCreate(Open):
    """A new assistant: a graph with settings of its own."""

    graph_id: str
    assistant_id: UUID | None = None
    name: Name | None = None
    description: Description | None = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: Metadata | None = None
    if_exists: Literal["raise", "do_nothing"] | None = None


class AssistantPatch(Open):
    """Changes of an assistant. Metadata is merged; what is missing stays."""

    graph_id: str | None = None
    name: Name | None = None
    description: Description | None = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: Metadata | None = None


class AssistantCount(Open):
    """Filter of assistants to count."""

    graph_id: str | None = None
    name: str | None = None
    metadata: Metadata | None = None


class AssistantSearch(AssistantCount):
    """Filter, order and page of assistants."""

    limit: Limit = 10
    offset: Offset = 0
    sort_by: Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"] | None = None
    sort_order: Literal["asc", "desc"] | None = None
    select: list[str] | None = None


class AssistantVersions(Open):
    """Filter and page of an assistant's versions, newest first."""

    metadata: Metadata | None = None
    limit: Limit = 10
    offset: Offset = 0


class AssistantVersion(Open):
    """The version to make the current one."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class AssistantView(BaseModel):
    """An assistant."""

    model_config = ConfigDict(extra="allow")

    assistant_id: str
    graph_id: str
    name: str
    description: str | None = None
    config: dict[str, Any]
    context: dict[str, Any]
    metadata: Metadata
    version: int
    created_at: str
    updated_at: str
