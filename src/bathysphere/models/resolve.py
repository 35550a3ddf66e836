"""Resolution of model names: `resolve` builds a chat model, `Models` holds one per role.

Building never waits for a server. `check` reports whether a model can be used, and is what
`bathysphere models` and `bathysphere doctor` show.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from bathysphere.core.errors import BathysphereError
from bathysphere.models import demo, hosted, llamacpp, lm_studio, ollama
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import DEMO, LLAMACPP, LM_STUDIO, OLLAMA, ModelName, Role, parse
from bathysphere.models.profiles import Profile, choose_profile, needs_constraint
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class Provider(Protocol):
    """Interface of a provider module."""

    def chat_model(
        self, name: ModelName, settings: ModelSettings, *, retries: int
    ) -> "BaseChatModel":
        """Build the chat model, or raise a `ConfigError` with what is missing."""
        ...

    async def check(self, name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
        """Check that the model can be used, or raise a `ConfigError` with the reason."""
        ...


PROVIDERS: dict[str, Provider] = {
    OLLAMA: ollama,
    LM_STUDIO: lm_studio,
    LLAMACPP: llamacpp,
    DEMO: demo,
}
"""The providers with their own module; all others are `hosted`."""

NAME_KEY = "bathysphere_model"
CONSTRAINED = "bathysphere_constrained_calls"
"""In the metadata of a model that calls tools only if its answers are constrained."""


def resolve(name: str, settings: ModelSettings, *, retries: int = 0) -> "BaseChatModel":
    """Build the chat model named `name`.

    Args:
        name: The model, as `provider:name`.
        settings: Keys, URLs and limits.
        retries: How often the client itself retries a failed call. Zero inside an agent, where
            `reliability` retries calls of every provider in the same way.

    Raises:
        ConfigError: The name is invalid, or a key, package or file is missing.
    """
    parsed = parse(name)
    model = _provider(parsed).chat_model(parsed, settings, retries=retries)
    model.metadata = {**(model.metadata or {}), NAME_KEY: str(parsed)}
    if needs_constraint(name, settings):
        model.metadata[CONSTRAINED] = True
    return model


async def check(name: str, settings: ModelSettings, *, probe: Probe | None = None) -> ModelCheck:
    """Check whether `name` can be used as configured; never raises if it cannot."""
    probe = probe or Probe(timeout_s=settings.check_timeout_s)
    try:
        parsed = parse(name)
        return await _provider(parsed).check(parsed, settings, probe)
    except BathysphereError as error:
        return ModelCheck.failed(name, error)


def _provider(name: ModelName) -> Provider:
    return PROVIDERS.get(name.provider, hosted)


def name_of(model: "BaseChatModel") -> str:
    """Return the `provider:name` a model was resolved from, or the best available name."""
    name = (model.metadata or {}).get(NAME_KEY)
    return str(name or getattr(model, "model_name", None) or type(model).__name__)


def calls_constrained(model: "BaseChatModel") -> bool:
    """Whether a model calls tools only if its answers are constrained."""
    return bool((model.metadata or {}).get(CONSTRAINED))


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    """The chat model of every role, and the fallbacks when one of them fails."""

    main: "BaseChatModel"
    subagent: "BaseChatModel"
    summary: "BaseChatModel"
    audit: "BaseChatModel"
    fallback: "tuple[BaseChatModel, ...]" = ()
    subagents: Mapping[str, "BaseChatModel"] = field(default_factory=dict)
    """Models of single subagents, by `subagent_key`."""
    profile: Profile = "full"
    """How much agents ask of the main model."""

    @classmethod
    def from_settings(cls, settings: ModelSettings) -> Self:
        """Resolve the models of all roles; roles with the same model share it."""
        built: dict[tuple[str, int], BaseChatModel] = {}

        def of(name: str, retries: int = 0) -> "BaseChatModel":
            if (name, retries) not in built:
                built[name, retries] = resolve(name, settings, retries=retries)
            return built[name, retries]

        def role(name: Role, retries: int = 0) -> "BaseChatModel":
            return of(settings.choice(name).name, retries)

        # `reliability` covers only the agent loop; summaries and audits run outside it.
        return cls(
            main=role("main"),
            subagent=role("subagent"),
            summary=role("summary", settings.retries),
            audit=role("audit", settings.retries),
            fallback=tuple(of(name) for name in settings.fallback),
            subagents={key: of(name) for key, name in settings.subagents.items()},
            profile=choose_profile(settings).profile,
        )

    def of(self, role: Role) -> "BaseChatModel":
        """Return the model of `role`."""
        model: BaseChatModel = getattr(self, role)
        return model
