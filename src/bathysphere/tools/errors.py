"""What fetching and searching can fail by."""

from bathysphere.core.errors import NotAllowed, UpstreamError


class FetchRefused(NotAllowed):
    """An address that must not be fetched; `reason` is a stable word."""

    code = "fetch_refused"

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class FetchFailed(UpstreamError):
    """A page that could not be read: it is down, too large, too slow, or of the wrong kind."""

    code = "fetch_failed"

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class SearchFailed(UpstreamError):
    """A search engine that did not answer as one."""

    code = "search_failed"
