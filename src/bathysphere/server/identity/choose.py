"""From settings to the one `Identify` of a process."""

import httpx
from starlette.requests import HTTPConnection

from bathysphere.core.clock import Clock
from bathysphere.engine.database import Pool
from bathysphere.engine.records import Owner
from bathysphere.server.identity.api_keys import PREFIX, ApiKeys
from bathysphere.server.identity.identify import (
    Identify,
    Unauthenticated,
    anonymous,
    credential,
    once,
)
from bathysphere.server.identity.jwks import Jwks
from bathysphere.server.identity.oidc import Oidc, Trust
from bathysphere.server.settings import ServerSettings


def identify_by(
    settings: ServerSettings, *, pool: Pool, http: httpx.AsyncClient, clock: Clock
) -> Identify:
    """What the settings ask for, called at most once for each request."""
    if settings.is_anonymous:
        return once(anonymous)
    keys = ApiKeys(pool) if "api-key" in settings.auth else None
    oidc = _oidc(settings, http, clock) if "oidc" in settings.auth else None

    async def identify(connection: HTTPConnection) -> Owner:
        shown = credential(connection)
        if keys is not None and (oidc is None or shown.startswith(PREFIX)):
            return await keys.owner_of(shown)
        if oidc is None:
            raise Unauthenticated("no way of knowing callers is set up")
        return await oidc.owner_of(shown)

    return once(identify)


def _oidc(settings: ServerSettings, http: httpx.AsyncClient, clock: Clock) -> Oidc:
    issuer = settings.oidc_issuer or ""
    trust = Trust(
        issuer=issuer,
        audience=settings.oidc_audience or "",
        algorithms=settings.oidc_algorithms,
        user_claim=settings.oidc_user_claim,
        tenant_claim=settings.oidc_tenant_claim,
        tenant=settings.oidc_tenant,
    )
    return Oidc(trust, Jwks(http=http, clock=clock, issuer=issuer, url=settings.oidc_jwks_url))
