"""A page of the web, as text."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class PageFetch(BaseModel):
    """Which page."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class PageText(BaseModel):
    """What a page says."""

    url: str
    final_url: str
    title: str
    text: str
    content_type: str
    published: str | None
    fetched_at: str
