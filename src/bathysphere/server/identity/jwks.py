"""An issuer's public keys: fetched when needed, kept, and fetched again when a new one appears.

A token with a key id that nobody knows makes us look again, but at most every `retry_seconds`: who
sends made-up key ids must not be able to make us call the issuer for each. Keys that are out of
date are used on while the issuer does not answer.
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

_log = logging.getLogger(__name__)
_LARGEST = 1_000_000
_MOST_KEYS = 100

Jwk = Mapping[str, Any]


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
        """The public key that a token's header names, for that algorithm only.

        Raises:
            Unauthenticated: The issuer has no such key.
            IdentityUnavailable: The issuer's keys were never seen and cannot be fetched.
        """
        if self._is_older(self._fetched, self._keep):
            await self._refresh()
        found = self._find(key_id, algorithm)
        if found is None:
            await self._refresh()
            found = self._find(key_id, algorithm)
        if self._fetched is None:
            raise IdentityUnavailable("the issuer's keys cannot be fetched")
        if found is None:
            raise Unauthenticated(
                "the token is signed with a key its issuer does not have",
                hint="get a fresh token from the configured issuer",
            )
        return found

    def _find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        fitting = [jwk for jwk in self._keys if _fits(jwk, key_id, algorithm)]
        if len(fitting) != 1:  # without a key id there must be no choice
            return None
        try:
            return PyJWK(dict(fitting[0]), algorithm=algorithm)
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
                _log.warning("the issuer's keys cannot be fetched: %r", error)

    async def _fetch(self) -> tuple[Jwk, ...]:
        if self._url is None:
            place = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            self._url = str((await self._get(place))["jwks_uri"])
        keys = (await self._get(self._url)).get("keys")
        if not isinstance(keys, list):
            raise ValueError("the key set has no keys")
        return tuple(jwk for jwk in keys[:_MOST_KEYS] if isinstance(jwk, dict) and _is_public(jwk))

    async def _get(self, url: str) -> dict[str, Any]:
        response = await self._http.get(url)
        response.raise_for_status()
        if len(response.content) > _LARGEST:
            raise ValueError("the answer is too large")
        body = response.json()
        if not isinstance(body, dict) or ("keys" not in body and "jwks_uri" not in body):
            raise ValueError("the answer is not what was asked for")
        return body

    def _is_older(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock.monotonic() - moment >= seconds


_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


def _is_public(jwk: Jwk) -> bool:
    """A key to check signatures with; a shared secret in a public set is never one."""
    return jwk.get("kty") in {"RSA", "EC", "OKP"} and jwk.get("use", "sig") == "sig"


def _fits(jwk: Jwk, key_id: str | None, algorithm: str) -> bool:
    return (
        (key_id is None or jwk.get("kid") == key_id)
        and jwk.get("alg", algorithm) == algorithm
        and jwk.get("kty") == _FAMILIES.get(algorithm[:2])
    )
