"""Errors of fetching and searching."""

from bathysphere.core.errors import NotAllowed, UpstreamError


class FetchRefused(NotAllowed):
    """A URL that must not be fetched; `reason` is machine-readable."""

    code = "fetch_refused"

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class FetchFailed(UpstreamError):
    """A page that could not be read: down, too large, too slow, or of the wrong type."""

    code = "fetch_failed"

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class SearchFailed(UpstreamError):
    """A search engine failed or returned an unexpected response."""

    code = "search_failed"
