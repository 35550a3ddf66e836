"""Content: input that the model does not support, such as images, is replaced by a notice.

deepagents' layer inspects every block of every message for each model call; plain text, which is
nearly everything, is skipped here, and a history of nothing else at once.

Order: innermost, where the model to be called is known. No state.
"""

from operator import attrgetter
from typing import Any

from deepagents.middleware import UnsupportedContentMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel

_content_of = attrgetter("content")


class ContentMiddleware(UnsupportedContentMiddleware):
    """Replaces blocks that the model does not accept."""

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return UnsupportedContentMiddleware.__name__

    def _filter_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if {str}.issuperset(map(type, map(_content_of, request.messages))):
            return request
        return super()._filter_request(request)

    def _filter_message(self, message: Any, *, model: BaseChatModel) -> Any:
        if isinstance(message.content, str):
            return message
        return super()._filter_message(message, model=model)
