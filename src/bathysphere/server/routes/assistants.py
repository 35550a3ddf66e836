"""Assistant routes: the served graphs, in LangGraph's format. Read-only."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from pydantic.errors import PydanticUserError
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.langgraph_api.assistants import assistant_id, describe, resolve
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.protocol import Open
from bathysphere.server.schemas.threads import Limit, Offset

router = APIRouter(prefix="/assistants", tags=["assistants"], route_class=StrictRoute)


class AssistantSearch(Open):
    """Filter of assistants."""

    graph_id: str | None = None
    name: str | None = None
    metadata: dict[str, Any] | None = None
    limit: Limit = 10
    offset: Offset = 0

    def matches(self, assistant: dict[str, Any]) -> bool:
        """Whether an assistant matches."""
        metadata = self.metadata or {}
        return (
            self.graph_id in (None, assistant["graph_id"])
            and (self.name or "").lower() in assistant["name"].lower()
            and all(assistant["metadata"].get(k) == v for k, v in metadata.items())
        )


@router.post("/search", response_model=list[dict[str, Any]])
async def search(body: AssistantSearch, _: CurrentOwner, services: ServicesDep) -> Response:
    """Search assistants."""
    found = _matching(services, body)
    return JSON(found[body.offset : body.offset + body.limit])


@router.post("/count", response_model=int)
async def count(body: AssistantSearch, _: CurrentOwner, services: ServicesDep) -> Response:
    """Count assistants."""
    return JSON(len(_matching(services, body)))


@router.get("/{assistant}", response_model=dict[str, Any])
async def get(assistant: str, _: CurrentOwner, services: ServicesDep) -> Response:
    """Get an assistant by id or graph name."""
    return JSON(describe(services.graphs, resolve(services.graphs, assistant)))


@router.get("/{assistant}/graph", response_model=dict[str, Any])
async def graph(
    assistant: str,
    _: CurrentOwner,
    services: ServicesDep,
    xray: Annotated[bool | Annotated[int, Field(ge=0, le=10)], Query()] = False,
) -> Response:
    """The graph's nodes and edges, for drawing."""
    bound = services.graphs.get(resolve(services.graphs, assistant))
    return JSON((await bound.aget_graph(xray=xray)).to_json())


@router.get("/{assistant}/schemas", response_model=dict[str, Any])
async def schemas(assistant: str, _: CurrentOwner, services: ServicesDep) -> Response:
    """The graph's input, output, state and context schemas."""
    name = resolve(services.graphs, assistant)
    bound = services.graphs.get(name)
    output = _schema(bound.get_output_jsonschema)
    return JSON(
        {
            "graph_id": name,
            "assistant_id": assistant_id(name),
            "input_schema": _schema(bound.get_input_jsonschema),
            "output_schema": output,
            "state_schema": output,
            "config_schema": {},
            "context_schema": _schema(bound.get_context_jsonschema),
        }
    )


def _matching(services: Services, body: AssistantSearch) -> list[dict[str, Any]]:
    graphs = services.graphs
    return [a for name in graphs.names() if body.matches(a := describe(graphs, name))]


def _schema(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except PydanticUserError:  # a state that has no JSON schema
        return None
