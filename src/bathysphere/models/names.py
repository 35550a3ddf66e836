"""Model names: `provider:name` strings, used in settings, specs and commands."""

from typing import Literal, NamedTuple

from bathysphere.core.errors import ConfigError

Role = Literal["main", "subagent", "summary", "audit"]
ROLES: tuple[Role, ...] = ("main", "subagent", "summary", "audit")

OLLAMA = "ollama"
LM_STUDIO = "lm-studio"
LLAMACPP = "llamacpp"
DEMO = "demo"
DEMO_TOUR = f"{DEMO}:tour"

_SPELLINGS = {"lmstudio": LM_STUDIO, "lm_studio": LM_STUDIO, "llama.cpp": LLAMACPP}


class ModelName(NamedTuple):
    """A parsed `provider:name`."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse(text: str) -> ModelName:
    """Split `provider:name` at its first colon; the name may contain more colons."""
    provider, colon, name = text.strip().partition(":")
    if not (provider and colon and name):
        raise ConfigError(
            f"Invalid model name: {text!r}",
            hint="use provider:name, for example anthropic:claude-sonnet-4-6 or ollama:qwen3",
        )
    provider = provider.lower()
    return ModelName(provider=_SPELLINGS.get(provider, provider), name=name)
