"""Availability checks of models, and the HTTP probe of local model servers.

Checks are quick and free: a key is set, a server lists the model, a file exists. They never send a
prompt, and building a model does not wait for them.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from bathysphere.core.errors import BathysphereError, ModelUnavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCheck:
    """Whether a model can be used, why, and a hint if it cannot."""

    name: str
    usable: bool
    detail: str
    hint: str | None = None

    @classmethod
    def failed(cls, name: str, error: BathysphereError) -> "ModelCheck":
        """Build the check of a model that cannot be used because of `error`."""
        return cls(name=name, usable=False, detail=error.message, hint=error.hint)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """HTTP access to model servers; tests inject a transport."""

    timeout_s: float = 2
    transport: httpx.AsyncBaseTransport | None = None

    async def get(
        self, url: str, *, server: str, hint: str, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Fetch JSON from `url`; raises `ModelUnavailable` with `hint` if that fails."""
        try:
            async with httpx.AsyncClient(
                timeout=self.timeout_s, transport=self.transport, trust_env=False
            ) as client:
                response = await client.get(url, headers=dict(headers or {}))
                response.raise_for_status()
                answer = response.json()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ModelUnavailable(f"{server} returned {status} at {url}", hint=hint) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ModelUnavailable(f"{server} is not reachable at {url}", hint=hint) from error
        if not isinstance(answer, dict):
            raise ModelUnavailable(f"{url} is not a {server} server", hint=hint)
        return answer


def installed(package: str) -> bool:
    """Whether `package` can be imported, without importing it."""
    return importlib.util.find_spec(package) is not None
