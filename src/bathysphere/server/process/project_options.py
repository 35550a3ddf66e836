"""What a project's `langgraph.json` sets beside its graphs, loaded for a process."""

from dataclasses import dataclass, field

from langchain_core.embeddings import Embeddings
from langgraph.store.base import TTLConfig, ensure_embeddings
from langgraph_sdk import Auth
from starlette.applications import Starlette

from bathysphere.core.errors import ConfigError
from bathysphere.engine.database.item_store import ItemIndex, StoreOptions
from bathysphere.registry.errors import load_failure
from bathysphere.registry.modules import import_target
from bathysphere.registry.project_sections import Expiry, StoreIndex
from bathysphere.registry.selection import Selection
from bathysphere.server.custom_routes import load_app
from bathysphere.server.process.auth_settings import PREFIX
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.project_auth.authenticate import load_auth


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectOptions:
    """A project's own app, authentication, store and expiry; all optional."""

    custom_app: Starlette | None = None
    auth: Auth | None = None
    store: StoreOptions = field(default_factory=StoreOptions)
    thread_ttl: Expiry | None = None


def load_options(selection: Selection, *, with_api: bool = True) -> ProjectOptions:
    """Import what the projects name; a worker needs neither routes nor authentication.

    Raises:
        LoadError: Something cannot be imported, or is set by two projects.
    """
    routes, auth = selection.http_app(), selection.auth()
    return ProjectOptions(
        custom_app=load_app(routes) if with_api and routes is not None else None,
        auth=load_auth(auth) if with_api and auth is not None else None,
        store=_store_options(selection.store_index(), selection.store_ttl()),
        thread_ttl=selection.thread_ttl(),
    )


def with_project_auth(settings: ServerSettings, project: ProjectOptions) -> ServerSettings:
    """Use the project's authentication if it has its own.

    Raises:
        ConfigError: The settings ask for another one, or for one that the project does not have.
    """
    if project.auth is None:
        if "project" in settings.auth:
            raise ConfigError(
                f"{PREFIX}AUTH is `project`, but the project has no authentication",
                hint="add 'auth.path' to its langgraph.json",
            )
        return settings
    if settings.auth != ("project",) and "auth" in settings.model_fields_set:
        raise ConfigError(
            f"{PREFIX}AUTH is `{','.join(settings.auth)}`, but langgraph.json sets 'auth.path'",
            hint=f"set {PREFIX}AUTH to `project`, or remove one of them",
        )
    return settings.model_copy(update={"auth": ("project",)})


def _store_options(index: StoreIndex | None, ttl: Expiry | None) -> StoreOptions:
    return StoreOptions(
        index=_item_index(index) if index is not None else None,
        ttl=_ttl_config(ttl) if ttl is not None else None,
        sweep_seconds=ttl.sweep_minutes * 60 if ttl is not None else 300,
    )


def _item_index(index: StoreIndex) -> ItemIndex:
    return ItemIndex(embeddings=_embeddings(index), dims=index.dims, fields=index.fields)


def _embeddings(index: StoreIndex) -> Embeddings:
    if isinstance(index.embed, str):
        try:
            return ensure_embeddings(index.embed)
        except Exception as error:  # a provider's library may raise anything
            raise load_failure(f"'store.index.embed' {index.embed}", error) from error
    return ensure_embeddings(import_target(index.embed))


def _ttl_config(ttl: Expiry) -> TTLConfig:
    return {
        "default_ttl": ttl.minutes,
        "refresh_on_read": ttl.refreshes_on_read,
        "omit_expired": True,  # an item is gone at its time, not at the next sweep
    }
