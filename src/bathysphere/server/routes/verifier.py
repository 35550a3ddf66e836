"""The page that checks a proof: the same for everybody, and it asks this server for nothing."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from bathysphere.evidence.proof.page import page_policy, verifier_page

router = APIRouter(tags=["verifier"])


@router.get("/verify", response_class=Response)
async def verify() -> Response:
    """One page that checks a proof in the browser; saved to a file, it works without a server."""
    page = verifier_page()
    # Its own policy, not the app's: no connection at all, and no script but the one in it.
    policy = page_policy(page)
    return HTMLResponse(
        page, headers={"content-security-policy": policy, "cache-control": "no-cache"}
    )
