"""Content: input that the model does not support, such as images, is replaced by a notice.

deepagents' layer inspects every block of every message for each model call; plain text, which is
nearly everything, is skipped here.

Order: innermost, where the model to be called is known. No state.
"""

from typing import Any

from deepagents.middleware import UnsupportedContentMiddleware
from langchain_core.language_models import BaseChatModel


class ContentMiddleware(UnsupportedContentMiddleware):
    """Replaces blocks that the model does not accept."""

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return UnsupportedContentMiddleware.__name__

    def _filter_message(self, message: Any, *, model: BaseChatModel) -> Any:
        if isinstance(message.content, str):
            return message
        return super()._filter_message(message, model=model)
