"""Serve the directory over HTTP, for the router of the cells."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import quote

from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import BathysphereError, ConfigError
from bathysphere.engine.cells.tenants import CellTenants
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.encryption.cipher import NO_ENCRYPTION
from bathysphere.server.asgi.token_bucket import MemoryBuckets, Rate
from bathysphere.server.cells.cells_file import CellsFile
from bathysphere.server.cells.directory import Directory, OpenCell
from bathysphere.server.errors import status_of
from bathysphere.server.identity.choose import identify_by
from bathysphere.server.identity.jwks import issuer_client
from bathysphere.server.process.listener import listen, listener, url_of
from bathysphere.server.process.settings import ServerSettings

_log = logging.getLogger(__name__)
_CONNECTIONS = 8
_CONNECT_SECONDS = 2


def directory_app(directory: Directory) -> Starlette:
    """Create the app: `GET /cell` answers 204, and names the caller's cell in headers."""

    async def cell(request: Request) -> Response:
        try:
            found = await directory.find(request, again=request.headers.get("x-again") == "1")
        except BathysphereError as error:
            return _refusal(error)
        # Encoded: a tenant may have letters that a header cannot have.
        tenant = {"x-tenant": quote(found.tenant, safe="")} if found.tenant is not None else {}
        headers = {"x-cell": found.cell.name, "x-cell-url": found.cell.url, **tenant}
        return Response(status_code=204, headers={"cache-control": "no-store", **headers})

    return Starlette(routes=[Route("/cell", cell)])


@asynccontextmanager
async def open_directory(file: CellsFile, settings: ServerSettings) -> AsyncIterator[Directory]:
    """Open the directory; it starts also if the databases of some cells are unavailable.

    Raises:
        ConfigError: Callers cannot be identified here.
    """
    if "project" in settings.auth:
        raise ConfigError(
            "The directory cannot run a project's own authentication",
            hint="set BATHYSPHERE_AUTH to api-key, oidc or both, in the cells and here",
        )
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(issuer_client())
        cells = []
        for address in file.cells.values():
            pool = await stack.enter_async_context(_open_pool(address.database_url))
            identify = identify_by(settings, pool=pool, http=http, clock=clock)
            tenants = CellTenants(pool)
            cells.append(OpenCell(address, tenants=tenants, identify=identify, clock=clock))
        guess = Rate(per_second=settings.guesses_per_second, burst=settings.guess_burst)
        guesses = MemoryBuckets(guess, clock=clock)
        yield Directory(cells, default=file.default, clock=clock, guesses=guesses)


async def serve_directory(
    file: CellsFile, settings: ServerSettings, *, on_ready: Callable[[str], None]
) -> None:
    """Serve the directory until a signal arrives."""
    async with open_directory(file, settings) as directory:
        front = listener(
            directory_app(directory), trusted_proxies=settings.trusted_proxies, stop_seconds=1
        )
        with contextlib.closing(listen(settings.host, settings.port)) as listening:
            loop = asyncio.get_running_loop()

            def stop() -> None:
                front.should_exit = True

            for which in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(which, stop)
            on_ready(url_of(listening))
            await front.serve(sockets=[listening])


@asynccontextmanager
async def _open_pool(url: str) -> AsyncIterator[Pool]:
    """Open a pool that does not wait for its database, neither now nor for a request."""
    pool = Pool(
        url,
        min_size=1,
        max_size=_CONNECTIONS,
        encryption=NO_ENCRYPTION,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "prepare_threshold": None,  # works behind PgBouncer, too
            "connect_timeout": _CONNECT_SECONDS,
            "tcp_user_timeout": _CONNECT_SECONDS * 1000,
        },
        check=AsyncConnectionPool.check_connection,
        timeout=_CONNECT_SECONDS,
        reconnect_timeout=float("inf"),
        open=False,
    )
    await pool.open(wait=False)
    try:
        yield pool
    finally:
        await pool.close()


def _refusal(error: BathysphereError) -> Response:
    status = status_of(error)
    if status >= 500:
        _log.warning("A caller has no cell: %s", error)
    body = {"error": error.code, "message": error.message, "hint": error.hint}
    return JSONResponse(body, status_code=status)
