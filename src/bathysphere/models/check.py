"""Can a model be used? The answer as data, and the one way to ask a model server on this machine.

Checks are quick and cost nothing: a key is set, a server lists the model, a file is there. They
never send a prompt, and building a model does not wait for them.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from bathysphere.core.errors import BathysphereError, ModelUnavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCheck:
    """Whether a model can be used, in one sentence, and what to do if it cannot."""

    name: str
    usable: bool
    detail: str
    hint: str | None = None

    @classmethod
    def failed(cls, name: str, error: BathysphereError) -> "ModelCheck":
        """The check of a model that `error` keeps from being used."""
        return cls(name=name, usable=False, detail=error.message, hint=error.hint)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """How model servers are asked; tests give a transport of their own."""

    timeout_s: float = 2
    transport: httpx.AsyncBaseTransport | None = None

    async def get(
        self, url: str, *, server: str, hint: str, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Read JSON from `url`; a server that does not answer is one sentence with `hint`."""
        try:
            async with httpx.AsyncClient(
                timeout=self.timeout_s, transport=self.transport, trust_env=False
            ) as client:
                response = await client.get(url, headers=dict(headers or {}))
                response.raise_for_status()
                answer = response.json()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ModelUnavailable(f"{server} answers {status} at {url}", hint=hint) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ModelUnavailable(f"{server} does not answer at {url}", hint=hint) from error
        if not isinstance(answer, dict):
            raise ModelUnavailable(f"what answers at {url} is not {server}", hint=hint)
        return answer


def installed(package: str) -> bool:
    """Whether `package` can be imported, without importing it."""
    return importlib.util.find_spec(package) is not None
