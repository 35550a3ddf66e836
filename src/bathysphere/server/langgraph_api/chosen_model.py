"""The model that a client chooses for a run, from those that the operator offers."""

from typing import Any

from bathysphere.engine.graphs import Graphs
from bathysphere.server.errors import InvalidRequest

MODEL = "bathysphere_model"
"""In `config.configurable` of a run, and in the metadata of the thread that it was chosen for."""


def chosen_model(graphs: Graphs, graph: str, chosen: Any) -> str | None:
    """The offered model that a client named; None if it named none.

    Raises:
        InvalidRequest: It is not offered, or the graph cannot take another model.
    """
    if chosen is None:
        return None
    choice = graphs.choice
    if choice is None or graph not in choice.graphs:
        raise InvalidRequest(
            f"'{graph}' takes no other model", hint=f"leave out configurable.{MODEL}"
        )
    if chosen not in choice.offered:
        raise InvalidRequest(
            "This model is not offered", hint=f"offered: {', '.join(choice.offered)}"
        )
    return str(chosen)


def still_offered(graphs: Graphs, graph: str, model: str | None) -> dict[str, str]:
    """The part of `configurable` that keeps to an earlier choice, if it can still be made."""
    choice = graphs.choice
    if choice is None or graph not in choice.graphs or model not in choice.offered:
        return {}
    return {MODEL: str(model)}
