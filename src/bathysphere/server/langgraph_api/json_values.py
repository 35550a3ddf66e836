"""JSON responses for any value that a graph's state may contain."""

from typing import Any

from starlette.responses import Response

from bathysphere.core.json_text import dumps


class JSON(Response):
    """A JSON response of any value that `dumps` accepts."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the body."""
        return dumps(content)
