"""From names to chat models: `resolve` builds one, `Models` holds one for each role.

Building never waits for a server. `check` asks whether a model can be used, and is what
`bathysphere models` and `bathysphere doctor` show.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from bathysphere.core.errors import BathysphereError
from bathysphere.models import demo, hosted, llamacpp, lm_studio, ollama
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import DEMO, LLAMACPP, LM_STUDIO, OLLAMA, ModelName, Role, parse
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class Provider(Protocol):
    """What the module of a provider offers."""

    def chat_model(
        self, name: ModelName, settings: ModelSettings, *, retries: int
    ) -> "BaseChatModel":
        """Build the chat model, or raise a `ConfigError` that says what is missing."""
        ...

    async def check(self, name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
        """Return why the model can be used, or raise a `ConfigError` that says why not."""
        ...


PROVIDERS: dict[str, Provider] = {
    OLLAMA: ollama,
    LM_STUDIO: lm_studio,
    LLAMACPP: llamacpp,
    DEMO: demo,
}
"""The providers with a module of their own; all others are `hosted`."""

NAME_KEY = "bathysphere_model"


def resolve(name: str, settings: ModelSettings, *, retries: int = 0) -> "BaseChatModel":
    """Build the chat model that `name` (`provider:name`) stands for.

    Args:
        name: The model, as `provider:name`.
        settings: Keys, addresses and limits.
        retries: How often the client itself repeats a failed call. Zero inside an agent, where
            `reliability` repeats calls for every provider in the same way.

    Raises:
        ConfigError: The name, a key, a package or a file is missing; the hint says what to do.
    """
    parsed = parse(name)
    model = _provider(parsed).chat_model(parsed, settings, retries=retries)
    model.metadata = {**(model.metadata or {}), NAME_KEY: str(parsed)}
    return model


async def check(name: str, settings: ModelSettings, *, probe: Probe | None = None) -> ModelCheck:
    """Say whether `name` can be used as configured; never raises for a model that cannot."""
    probe = probe or Probe(timeout_s=settings.check_timeout_s)
    try:
        parsed = parse(name)
        return await _provider(parsed).check(parsed, settings, probe)
    except BathysphereError as error:
        return ModelCheck.failed(name, error)


def _provider(name: ModelName) -> Provider:
    return PROVIDERS.get(name.provider, hosted)


def name_of(model: "BaseChatModel") -> str:
    """The `provider:name` a model was resolved from, or the best name it has."""
    name = (model.metadata or {}).get(NAME_KEY)
    return str(name or getattr(model, "model_name", None) or type(model).__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    """The chat model of every role, and the ones tried when one of them fails."""

    main: "BaseChatModel"
    subagent: "BaseChatModel"
    summary: "BaseChatModel"
    audit: "BaseChatModel"
    fallback: "tuple[BaseChatModel, ...]" = ()

    @classmethod
    def from_settings(cls, settings: ModelSettings) -> Self:
        """Resolve all roles; roles with the same model share it."""
        built: dict[tuple[str, int], BaseChatModel] = {}

        def of(name: str, retries: int = 0) -> "BaseChatModel":
            if (name, retries) not in built:
                built[name, retries] = resolve(name, settings, retries=retries)
            return built[name, retries]

        def role(name: Role, retries: int = 0) -> "BaseChatModel":
            return of(settings.choice(name).name, retries)

        # Summaries and audits are called outside the agent loop, where `reliability` works.
        return cls(
            main=role("main"),
            subagent=role("subagent"),
            summary=role("summary", settings.retries),
            audit=role("audit", settings.retries),
            fallback=tuple(of(name) for name in settings.fallback),
        )

    def of(self, role: Role) -> "BaseChatModel":
        """The model of `role`."""
        model: BaseChatModel = getattr(self, role)
        return model
