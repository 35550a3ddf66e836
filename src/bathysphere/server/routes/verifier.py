"""The proof verifier page: the same for everyone, and it makes no requests to this server."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from bathysphere.evidence.proof.page import page_policy, verifier_page

router = APIRouter(tags=["verifier"])


@router.get("/verify", response_class=Response)
async def verify() -> Response:
    """A page that verifies a proof in the browser; saved to a file, it works offline."""
    page = verifier_page()
    # Stricter than the app's policy: no connections, and only the page's own script.
    policy = page_policy(page)
    return HTMLResponse(
        page, headers={"content-security-policy": policy, "cache-control": "no-cache"}
    )
