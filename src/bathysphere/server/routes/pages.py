"""A page of the web as text, for a person who wants it as a source on their device."""

from fastapi import APIRouter

from bathysphere.server.deps import CurrentOwner, PagesDep
from bathysphere.server.schemas.pages import PageFetch, PageText
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=StrictRoute)

_SHOWN = {"url", "final_url", "title", "content_type", "published", "fetched_at"}


@router.post("", response_model=PageText)
async def fetch(owner: CurrentOwner, pages: PagesDep, body: PageFetch) -> PageText:
    """Fetch a page under guard and give its readable text; nothing of it is kept here."""
    page = await pages.read(body.url, owner=owner)
    return PageText(text=page.text, **page.info.model_dump(include=_SHOWN))
