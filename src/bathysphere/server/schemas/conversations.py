"""Schemas of the search in conversations."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from bathysphere.server.schemas.protocol import Open


class MessageSearch(Open):
    """Words to look for in the messages of the caller's threads."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="A message must have all words, each as a whole or as the beginning"
            " of one; case and accents do not matter.",
        ),
    ]
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Metadata that the threads must have.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=50, description="Maximum number of threads.")] = 20


class ShareCreate(Open):
    """How long a snapshot can be read."""

    days: Annotated[int, Field(ge=1, le=90)] = 7


class ShareView(BaseModel):
    """A shared snapshot. Its `path` is the address on this server; whoever has it can read."""

    share_id: str
    path: str
    title: str
    message_count: int
    created_at: str
    expires_at: str


class ExcerptView(BaseModel):
    """A piece of an excerpt."""

    text: str
    is_match: bool


class MessageHitView(BaseModel):
    """A message with the words."""

    message_id: str
    role: Literal["person", "agent"]
    excerpt: list[ExcerptView]


class ThreadHitView(BaseModel):
    """A thread whose messages have the words; with up to three of them."""

    thread_id: str
    title: str | None
    updated_at: str
    count: int
    hits: list[MessageHitView]
