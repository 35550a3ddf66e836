"""The models that a process uses, and everything that changes when another one is chosen."""

from collections.abc import Callable, Mapping

from langchain_core.language_models import BaseChatModel

from bathysphere.engine.graphs import Graphs
from bathysphere.models.settings import ModelSettings
from bathysphere.models.stored_choice import FILE
from bathysphere.registry.agents import Agent
from bathysphere.server.models.catalog import ModelCard, model_lister
from bathysphere.server.models.loading import ModelLoading
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.process.assembly import title_model_of
from bathysphere.server.process.settings import ServerSettings

BuildGraphs = Callable[[ModelSettings, Mapping[str, Agent]], Graphs]


class ServedModels:
    """Settings in use, the graphs built with them, and the model that writes titles.

    `use` replaces them; attempts at runs that have begun go on with the models that they have.
    """

    def __init__(self, models: ModelSettings, build: BuildGraphs, *, loading: ModelLoading) -> None:
        self.settings = models
        self._loading = loading
        self._build = build
        self._agents: Mapping[str, Agent] = {}
        self._graphs: Graphs | None = None
        self._title_model = title_model_of(models)

    def graphs(self, agents: Mapping[str, Agent]) -> Graphs:
        """The graphs that this process serves from now on."""
        self._graphs = self.make(agents)
        return self._graphs

    def make(self, agents: Mapping[str, Agent]) -> Graphs:
        """Build graphs of these agents with the models in use."""
        graphs = self._build(self.settings, agents)
        self._agents = agents
        return graphs

    async def use(self, models: ModelSettings) -> None:
        """Use other models.

        Raises:
            ConfigError: Agents cannot be built with them; then nothing changes.
        """
        changed = self._build(models, self._agents)
        await changed.prepare()
        if self._graphs is not None:
            self._graphs.replace(changed)
        self.settings = models
        self._title_model = title_model_of(models)
        self._loading.use(models)

    async def cards(self) -> list[ModelCard]:
        """Check the configured models."""
        return await model_lister(self.settings)()

    def title_model(self) -> BaseChatModel | None:
        """The model that writes titles now."""
        return self._title_model


def open_setup(
    settings: ServerSettings, environment: ModelSettings, *, works: bool, is_paid: bool
) -> ModelSetup | None:
    """What lets a person choose the model in the browser; None unless the machine is theirs.

    Raises:
        ConfigError: What they chose before cannot be read.
    """
    if not (settings.is_own_machine and works) or is_paid:
        return None
    return ModelSetup(environment, settings.data_dir / FILE)
