"""Schemas of page fetching."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class PageFetch(BaseModel):
    """A page to fetch."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class PageText(BaseModel):
    """The text of a page."""

    url: str
    final_url: str
    title: str
    text: str
    content_type: str
    published: str | None
    fetched_at: str
