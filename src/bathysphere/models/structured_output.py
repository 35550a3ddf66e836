"""Structured output and unstreamed models, for calls that middleware makes itself."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.constants import TAG_NOSTREAM


def schema_settings(model: BaseChatModel, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the call settings that enforce the schema; empty if the provider cannot."""
    try:
        chain: Any = model.with_structured_output(schema, method="json_schema")
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return {}
    settings = dict(getattr(getattr(chain, "first", None), "kwargs", {}))
    if "response_format" in settings and getattr(model, "use_responses_api", None) is False:
        # Outside the body, OpenAI's client fails if the answer is cut off, and its stream drops
        # what other servers add to it.
        body = getattr(model, "extra_body", None) or {}
        settings["extra_body"] = {**body, "response_format": settings.pop("response_format")}
    return settings


def without_stream(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of the model whose output is not streamed to the user."""
    return model.model_copy(update={"tags": [*(model.tags or []), TAG_NOSTREAM]})
