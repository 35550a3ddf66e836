"""The models that a process uses, and everything that changes when another one is chosen."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from langchain_core.language_models import BaseChatModel

from bathysphere.engine.graphs import Graphs, ModelChoice
from bathysphere.models.offered import offered_models
from bathysphere.models.settings import ModelSettings
from bathysphere.models.stored_choice import FILE
from bathysphere.registry.agents import Agent, takes_main_model
from bathysphere.server.models.catalog import ModelCard, list_cards
from bathysphere.server.models.loading import ModelLoading
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.process.assembly import title_model_of
from bathysphere.server.process.settings import ServerSettings

BuildGraphs = Callable[[ModelSettings, Mapping[str, Agent]], Graphs]
FindModels = Callable[[], Awaitable[list[str]]]


def graphs_to_choose(
    build: BuildGraphs, models: ModelSettings, agents: Mapping[str, Agent]
) -> Graphs:
    """The graphs of the agents, with the models that the operator offers for conversations.

    A choice replaces the main model; so the roles follow that the operator left to it.

    Raises:
        ConfigError: The list of offered models is invalid.
    """
    graphs = build(models, agents)
    taking = {name: agent for name, agent in agents.items() if takes_main_model(agent)}

    def with_main(model: str) -> Graphs:
        return build(models.model_copy(update={"main": model}), taking)

    graphs.choice = ModelChoice(
        offered=tuple(each.name for each in offered_models(models)),
        graphs=frozenset(taking),
        build=with_main,
    )
    return graphs


class ServedModels:
    """Settings in use, the graphs built with them, and the model that writes titles.

    `use` replaces them; attempts at runs that have begun go on with the models that they have.
    """

    def __init__(
        self,
        models: ModelSettings,
        build: BuildGraphs,
        *,
        loading: ModelLoading,
        find: FindModels | None = None,
    ) -> None:
        self.settings = models
        self._find = find
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
        graphs = graphs_to_choose(self._build, self.settings, agents)
        self._agents = agents
        return graphs

    async def use(self, models: ModelSettings) -> None:
        """Use other models.

        Raises:
            ConfigError: Agents cannot be built with them; then nothing changes.
        """
        changed = graphs_to_choose(self._build, models, self._agents)
        await changed.prepare()
        if self._graphs is not None:
            self._graphs.replace(changed)
        self.settings = models
        self._title_model = title_model_of(models)
        self._loading.use(models)

    async def cards(self) -> list[ModelCard]:
        """Check the configured models and, if there are two or more, those to choose from."""
        choice = self._graphs.choice if self._graphs is not None else None
        if choice is None or self._graphs is None:
            return await list_cards(self.settings)
        found = await self._find() if self._find is not None else []
        offered = offered_models(self.settings, found)
        self._graphs.choice = replace(choice, offered=tuple(each.name for each in offered))
        return await list_cards(self.settings, offered if len(offered) > 1 else (), choice.graphs)

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
