"""Fetch a web page as text, to be kept as a source on the user's device."""

from fastapi import APIRouter

from bathysphere.server.deps import Charge, CurrentOwner, PagesDep
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.schemas.pages import PageFetch, PageText

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=StrictRoute)

_COST = 10
"""How many requests a page counts as: it is fetched, and parsed in a process of its own."""
_FIELDS = {"url", "final_url", "title", "content_type", "published", "fetched_at"}


@router.post("", response_model=PageText)
async def fetch(owner: CurrentOwner, pages: PagesDep, charge: Charge, body: PageFetch) -> PageText:
    """Fetch a public web page and return its readable text; the server stores nothing."""
    await charge(_COST - 1)
    page = await pages.read(body.url, owner=owner)
    return PageText(text=page.text, **page.info.model_dump(include=_FIELDS))
