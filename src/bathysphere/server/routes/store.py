"""Store routes: items that users and graphs share across threads."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from bathysphere.core.json_text import dumps
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.errors import NotSupported
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.store_items import Items
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.protocol import Open
from bathysphere.server.schemas.threads import Limit, Offset

router = APIRouter(prefix="/store", tags=["store"], route_class=StrictRoute)
Parts = Annotated[list[str], Field(max_length=32)]
Key = Annotated[str, Field(min_length=1, max_length=1024)]


class ItemPut(Open):
    """An item to store."""

    namespace: Annotated[list[str], Field(min_length=1, max_length=32)]
    key: Key
    value: dict[str, Any]
    index: Literal[False] | list[str] | None = Field(
        default=None, description="Fields to find it by; `false`: none; default: the server's."
    )
    ttl: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Minutes until it expires, where the server has expiry."
    )


class ItemDelete(Open):
    """An item to delete."""

    namespace: Parts = Field(default_factory=list)
    key: Key


class ItemSearch(Open):
    """Filter of items."""

    namespace_prefix: Parts = Field(default_factory=list)
    filter: dict[str, Any] | None = None
    limit: Limit = 10
    offset: Offset = 0
    query: str | None = Field(
        default=None, description="What items should mean, where the server has an index."
    )


class NamespaceList(Open):
    """Filter of namespaces."""

    prefix: Parts | None = None
    suffix: Parts | None = None
    max_depth: Annotated[int, Field(ge=1, le=64)] | None = None
    limit: Limit = 100
    offset: Offset = 0


@router.put("/items", status_code=204)
async def put(body: ItemPut, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Store an item."""
    await services.stored.reserve(owner, len(dumps(body.value)))
    await Items(services.store, owner).put(
        body.namespace, body.key, body.value, **_put_options(body, services)
    )
    return Response(status_code=204)


@router.get("/items", response_model=dict[str, Any])
async def get(
    key: Annotated[str, Query(min_length=1)],
    owner: CurrentOwner,
    services: ServicesDep,
    namespace: Annotated[
        str | None, Query(description="Namespace segments, joined by dots.")
    ] = None,
) -> Response:
    """Get an item."""
    parts = namespace.split(".") if namespace else []
    return JSON(await Items(services.store, owner).get(parts, key))


@router.delete("/items", status_code=204)
async def delete(body: ItemDelete, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Delete an item."""
    await Items(services.store, owner).delete(body.namespace, body.key)
    return Response(status_code=204)


@router.post("/items/search", response_model=dict[str, Any])
async def search(body: ItemSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Search the items below a namespace, by their fields or by meaning."""
    if body.query and services.store_options.index is None:
        raise NotSupported(
            "This server has no search by meaning",
            hint="omit `query`; the operator enables it with `store.index` of langgraph.json",
        )
    found = await Items(services.store, owner).search(
        body.namespace_prefix,
        filter=body.filter,
        limit=body.limit,
        offset=body.offset,
        query=body.query,
    )
    return JSON({"items": found})


@router.post("/namespaces", response_model=dict[str, Any])
async def namespaces(body: NamespaceList, owner: CurrentOwner, services: ServicesDep) -> Response:
    """List the namespaces that have items."""
    found = await Items(services.store, owner).namespaces(
        prefix=body.prefix or [],
        suffix=body.suffix,
        max_depth=body.max_depth,
        limit=body.limit,
        offset=body.offset,
    )
    return JSON({"namespaces": found})


def _put_options(body: ItemPut, services: Services) -> dict[str, Any]:
    """Index and expiry of an item.

    Raises:
        NotSupported: It has a time, and nothing would delete it then.
    """
    if body.ttl is None:
        return {"index": body.index}
    if services.store_options.ttl is None:
        raise NotSupported(
            "Items do not expire on this server",
            hint="omit `ttl`; the operator enables it with `store.ttl` of langgraph.json",
        )
    return {"index": body.index, "ttl": body.ttl}
