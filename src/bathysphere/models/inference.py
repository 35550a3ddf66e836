"""Inference of the provider of a model name that has none, such as `claude-sonnet-4-6`."""

from bathysphere.core.errors import ConfigError


def with_provider(name: str) -> str:
    """Return `provider:name`, with the provider that LangChain infers from the name.

    Raises:
        ConfigError: No provider can be inferred.
    """
    if ":" in name:
        return name
    if name.lower().startswith("gemini"):
        # LangChain still infers Vertex AI, with a warning that its next version infers this one.
        return f"google_genai:{name}"
    from bathysphere.upstream import infer_model_provider  # imports LangChain

    provider = infer_model_provider(name)
    if provider is None:
        raise ConfigError(
            f"Unknown provider of model {name!r}",
            hint=f"name the provider, for example ollama:{name or 'qwen3'}",
        )
    return f"{provider}:{name}"
