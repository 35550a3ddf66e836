"""An issuer's public keys (JWKS): fetched on demand, cached, refreshed for unknown key ids.

An unknown key id triggers a refresh, but at most every `retry_seconds`, so that invented key ids
cannot make us call the issuer each time. Expired keys stay in use while the issuer is unavailable.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from bathysphere.core.clock import Clock
from bathysphere.server.identity.identify import IdentityUnavailable, Unauthenticated
from bathysphere.server.process.addresses import is_encrypted_or_local

_log = logging.getLogger(__name__)
_MAX_BYTES = 1_000_000
_MAX_KEYS = 100

Jwk = Mapping[str, Any]


def issuer_client() -> httpx.AsyncClient:
    """Create the HTTP client for the issuer; it ignores proxies and netrc of the environment."""
    return httpx.AsyncClient(timeout=5, trust_env=False)


class Jwks:
    """The key set of one issuer."""

    def __init__(
        self,
        *,
        http: httpx.AsyncClient,
        clock: Clock,
        issuer: str,
        url: str | None = None,
        keep_seconds: float = 600,
        retry_seconds: float = 10,
    ) -> None:
        self._http = http
        self._clock = clock
        self._issuer = issuer
        self._url = url
        self._keep = keep_seconds
        self._retry = retry_seconds
        self._keys: tuple[Jwk, ...] = ()
        self._fetched: float | None = None
        self._tried: float | None = None
        self._lock = asyncio.Lock()

    async def key(self, key_id: str | None, algorithm: str) -> PyJWK:
        """Return the public key for a token's key id and algorithm.

        Raises:
            Unauthenticated: The issuer has no such key.
            IdentityUnavailable: No keys are cached, and they cannot be fetched.
        """
        if self._is_older(self._fetched, self._keep):
            await self._refresh()
        found = self._find(key_id, algorithm)
        if found is None:
            await self._refresh()
            found = self._find(key_id, algorithm)
        if self._fetched is None:
            raise IdentityUnavailable("The issuer's keys cannot be fetched")
        if found is None:
            raise Unauthenticated(
                "The token's signing key is unknown to the issuer",
                hint="get a fresh token from the configured issuer",
            )
        return found

    def _find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        matching = [jwk for jwk in self._keys if _matches(jwk, key_id, algorithm)]
        if len(matching) != 1:  # without a key id the key must be unambiguous
            return None
        try:
            return PyJWK(dict(matching[0]), algorithm=algorithm)
        except PyJWTError:
            return None

    async def _refresh(self) -> None:
        async with self._lock:
            if not self._is_older(self._tried, self._retry):
                return
            self._tried = self._clock.monotonic()
            try:
                self._keys = await self._fetch()
                self._fetched = self._tried
            except (httpx.HTTPError, ValueError) as error:
                _log.warning("The issuer's keys cannot be fetched: %r", error)

    async def _fetch(self) -> tuple[Jwk, ...]:
        if self._url is None:
            configuration = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            url = str((await self._get(configuration))["jwks_uri"])
            if not is_encrypted_or_local(url):
                raise ValueError(
                    f"The issuer's jwks_uri must use https, or http on localhost: {url}"
                )
            self._url = url
        keys = (await self._get(self._url)).get("keys")
        if not isinstance(keys, list):
            raise ValueError("The key set has no `keys` list")
        return tuple(jwk for jwk in keys[:_MAX_KEYS] if isinstance(jwk, dict) and _is_public(jwk))

    async def _get(self, url: str) -> dict[str, Any]:
        response = await self._http.get(url)
        response.raise_for_status()
        if len(response.content) > _MAX_BYTES:
            raise ValueError(f"Response exceeds {_MAX_BYTES} bytes")
        body = response.json()
        if not isinstance(body, dict) or ("keys" not in body and "jwks_uri" not in body):
            raise ValueError("Unexpected response: neither a key set nor an OpenID configuration")
        return body

    def _is_older(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock.monotonic() - moment >= seconds


_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


def _is_public(jwk: Jwk) -> bool:
    """Whether a key is a public signature key; shared secrets in a public set are ignored."""
    return jwk.get("kty") in {"RSA", "EC", "OKP"} and jwk.get("use", "sig") == "sig"


def _matches(jwk: Jwk, key_id: str | None, algorithm: str) -> bool:
    return (
        (key_id is None or jwk.get("kid") == key_id)
        and jwk.get("alg", algorithm) == algorithm
        and jwk.get("kty") == _FAMILIES.get(algorithm[:2])
    )
