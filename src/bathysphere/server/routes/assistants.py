"""Assistant routes: the served graphs, and the assistants that users store."""

from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Path, Query
from langgraph.pregel import Pregel
from pydantic import Field
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant, AssistantDefinition, AssistantFilter
from bathysphere.engine.errors import AssistantExists
from bathysphere.engine.graphs import Graph
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.langgraph_api.assistants import (
    assistant_json,
    find_assistant,
    find_stored,
    find_system_assistant,
    system_assistants,
)
from bathysphere.server.langgraph_api.bounded_answers import NEXT_HEADER
from bathysphere.server.langgraph_api.client_writes import check_context
from bathysphere.server.langgraph_api.delete_threads import delete_threads_of
from bathysphere.server.langgraph_api.graph_names import graph_name
from bathysphere.server.langgraph_api.graph_schemas import schemas_of
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.serializers import selected
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.assistants import (
    AssistantCount,
    AssistantCreate,
    AssistantPatch,
    AssistantSearch,
    AssistantVersion,
    AssistantVersions,
    AssistantView,
)

router = APIRouter(prefix="/assistants", tags=["assistants"], route_class=StrictRoute)
AssistantName = Annotated[str, Path(description="ID of the assistant, or a graph's name.")]


@router.post("", response_model=AssistantView)
async def create(body: AssistantCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Create an assistant, with the client's id or a new one."""
    definition = AssistantDefinition(
        graph=services.graphs.require(graph_name(services.graphs, body.graph_id)),
        name=body.name or "Untitled",
        description=body.description,
        config=body.config.model_dump(exclude_unset=True) if body.config is not None else {},
        context=body.context or {},
        metadata=body.metadata or {},
    )
    check_context(services.graphs, definition.graph, definition.context)
    assistant_id = body.assistant_id or uuid4()
    try:
        if find_system_assistant(services.graphs, str(assistant_id)) is not None:
            raise AssistantExists(f"Assistant id {assistant_id} is already in use")
        created = await services.assistants.create(assistant_id, definition, owner=owner)
    except AssistantExists:
        if body.if_exists != "do_nothing":
            raise
        created = await find_assistant(services, str(assistant_id), owner=owner)
    return JSON(assistant_json(created))


@router.post("/search", response_model=list[AssistantView])
async def search(body: AssistantSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Search assistants: the caller's own and those of the graphs."""
    found = await services.assistants.search(
        _filter(services, body),
        owner=owner,
        system=system_assistants(services.graphs),
        sort_by=body.sort_by or "created_at",
        sort_order=body.sort_order or "desc",
        limit=body.limit + 1,
        offset=body.offset,
    )
    page = [selected(assistant_json(assistant), body.select) for assistant in found[: body.limit]]
    has_more = len(found) > body.limit
    headers = {NEXT_HEADER: str(body.offset + body.limit)} if has_more else {}
    return JSON(page, headers=headers)


@router.post("/count", response_model=int)
async def count(body: AssistantCount, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Count assistants: the caller's own and those of the graphs."""
    wanted, system = _filter(services, body), system_assistants(services.graphs)
    return JSON(await services.assistants.count(wanted, owner=owner, system=system))


@router.get("/{assistant}", response_model=AssistantView)
async def get(assistant: AssistantName, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Get an assistant by id or graph name."""
    return JSON(assistant_json(await find_assistant(services, assistant, owner=owner)))


@router.patch("/{assistant}", response_model=AssistantView)
async def update(
    assistant: AssistantName, body: AssistantPatch, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Store a new version of an assistant and make it the current one."""
    assistant_id = await find_stored(services, assistant, owner=owner)
    changes = {
        "graph" if name == "graph_id" else name: value
        for name, value in body.model_dump(exclude_unset=True).items()
        if value is not None and name in AssistantPatch.model_fields
    }
    if "graph" in changes:
        changes["graph"] = graph_name(services.graphs, changes["graph"])
    before = (await services.assistants.get(assistant_id, owner=owner)).definition
    graph = services.graphs.require(changes.get("graph", before.graph))
    check_context(services.graphs, graph, changes.get("context", before.context))
    return JSON(
        assistant_json(await services.assistants.update(assistant_id, changes, owner=owner))
    )


@router.delete("/{assistant}", status_code=204)
async def delete(
    assistant: AssistantName,
    owner: CurrentOwner,
    services: ServicesDep,
    delete_threads: Annotated[
        bool, Query(description="Delete the threads whose metadata names the assistant, too.")
    ] = False,
) -> Response:
    """Cancel the assistant's runs and delete it, with all versions and its schedules."""
    assistant_id = await find_stored(services, assistant, owner=owner)
    if delete_threads:
        await delete_threads_of(services, assistant_id, owner=owner)
    for run_id in await services.runs.active_of_assistant(assistant_id, owner=owner):
        await services.runs.cancel(run_id, owner=owner)
    await services.assistants.delete(assistant_id, owner=owner)
    await services.crons.delete_of_assistant(assistant_id, owner=owner)
    return Response(status_code=204)


@router.post("/{assistant}/versions", response_model=list[dict[str, Any]])
async def versions(
    assistant: AssistantName,
    owner: CurrentOwner,
    services: ServicesDep,
    body: AssistantVersions | None = None,
) -> Response:
    """List the versions of an assistant, newest first."""
    page = body or AssistantVersions()
    current = await find_assistant(services, assistant, owner=owner)
    if current.is_system:
        return JSON([_version_json(current)])
    found = await services.assistants.versions(
        current.assistant_id,
        owner=owner,
        metadata=page.metadata,
        limit=page.limit,
        offset=page.offset,
    )
    return JSON([_version_json(version) for version in found])


@router.post("/{assistant}/latest", response_model=AssistantView)
async def set_latest(
    assistant: AssistantName, body: AssistantVersion, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Make a version of an assistant the current one."""
    assistant_id = await find_stored(services, assistant, owner=owner)
    found = await services.assistants.set_version(assistant_id, body.version, owner=owner)
    return JSON(assistant_json(found))


@router.get("/{assistant}/graph", response_model=dict[str, Any])
async def graph(
    assistant: AssistantName,
    owner: CurrentOwner,
    services: ServicesDep,
    xray: Annotated[bool | Annotated[int, Field(ge=0, le=10)], Query()] = False,
) -> Response:
    """The graph's nodes and edges, for drawing."""
    bound = await _graph_of(services, assistant, owner)
    return JSON((await bound.aget_graph(xray=xray)).to_json())


@router.get("/{assistant}/subgraphs", response_model=dict[str, Any])
async def subgraphs(
    assistant: AssistantName,
    owner: CurrentOwner,
    services: ServicesDep,
    recurse: Annotated[bool, Query(description="Include subgraphs of subgraphs.")] = False,
) -> Response:
    """The schemas of the graph's subgraphs, by namespace."""
    bound = await _graph_of(services, assistant, owner)
    return JSON(await _subgraphs(bound, namespace=None, recurse=recurse))


@router.get("/{assistant}/subgraphs/{namespace}", response_model=dict[str, Any])
async def subgraphs_of_namespace(
    assistant: AssistantName,
    namespace: Annotated[str, Path(description="Namespace of a subgraph.")],
    owner: CurrentOwner,
    services: ServicesDep,
    recurse: Annotated[bool, Query(description="Include subgraphs of subgraphs.")] = False,
) -> Response:
    """The schemas of the subgraph in a namespace, and with `recurse` of those below it."""
    bound = await _graph_of(services, assistant, owner)
    return JSON(await _subgraphs(bound, namespace=namespace, recurse=recurse))


@router.get("/{assistant}/schemas", response_model=dict[str, Any])
async def schemas(assistant: AssistantName, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The graph's input, output, state and context schemas."""
    found = await find_assistant(services, assistant, owner=owner)
    name = found.definition.graph
    known = {"graph_id": name, "assistant_id": str(found.assistant_id)}
    return JSON({**known, **schemas_of(services.graphs.get(name))})


async def _graph_of(services: Services, assistant: str, owner: Owner) -> Graph:
    found = await find_assistant(services, assistant, owner=owner)
    return services.graphs.get(found.definition.graph)


async def _subgraphs(bound: Graph, *, namespace: str | None, recurse: bool) -> dict[str, Any]:
    found = bound.aget_subgraphs(namespace=namespace, recurse=recurse)
    # A graph on another server has no schemas here.
    return {name: schemas_of(part) async for name, part in found if isinstance(part, Pregel)}


def _filter(services: Services, body: AssistantCount) -> AssistantFilter:
    graph = graph_name(services.graphs, body.graph_id) if body.graph_id else body.graph_id
    return AssistantFilter(graph=graph, name=body.name, metadata=body.metadata or {})


def _version_json(assistant: Assistant) -> dict[str, Any]:
    view = assistant_json(assistant)
    del view["updated_at"]
    return view
