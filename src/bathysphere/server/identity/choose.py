"""Choose the authentication method from the settings."""

import httpx
from starlette.requests import HTTPConnection

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
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
from bathysphere.server.process.settings import ServerSettings


def identify_by(
    settings: ServerSettings,
    *,
    pool: Pool,
    http: httpx.AsyncClient,
    clock: Clock,
    project: Identify | None = None,
) -> Identify:
    """Return the `Identify` that the settings require, evaluated at most once per request.

    Args:
        settings: Which methods are in use, and how.
        pool: Where API keys are stored.
        http: Fetches the keys of an OpenID Connect issuer.
        clock: The time, for cached keys.
        project: The project's own authentication.
    """
    if project is not None and "project" in settings.auth:
        return once(project)
    if settings.is_anonymous:
        return once(anonymous)
    keys = ApiKeys(pool) if "api-key" in settings.auth else None
    oidc = _oidc(settings, http, clock) if "oidc" in settings.auth else None

    async def identify(connection: HTTPConnection) -> Owner:
        token = credential(connection)
        if keys is not None and (oidc is None or token.startswith(PREFIX)):
            return await keys.identify(connection)
        if oidc is None:
            raise Unauthenticated("No authentication method is configured")
        return await oidc.identify(connection)

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
        admin_claim=settings.oidc_admin_claim,
        admin_value=settings.oidc_admin_value,
    )
    return Oidc(trust, Jwks(http=http, clock=clock, issuer=issuer, url=settings.oidc_jwks_url))
