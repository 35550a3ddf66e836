"""Pull models through Ollama's and LM Studio's own interfaces, with progress.

Both programs fetch, verify and resume by themselves; what is shown here is what they report.
"""

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.models import lm_studio, ollama
from bathysphere.models.download import Progress
from bathysphere.models.names import LM_STUDIO, OLLAMA, ModelName
from bathysphere.models.settings import ModelSettings

PULLERS = (OLLAMA, LM_STUDIO)
"""The providers that pull models themselves."""
POLL_S = 0.5
_TIMEOUT = httpx.Timeout(10, read=None)  # a program may say nothing while it verifies
_RESUME = "run the same command again: what was fetched is kept"


async def pull(
    name: ModelName,
    settings: ModelSettings,
    *,
    progress: Progress,
    transport: httpx.AsyncBaseTransport | None = None,
    poll_s: float = POLL_S,
) -> None:
    """Let Ollama or LM Studio fetch a model.

    Raises:
        ModelUnavailable: The program is not running.
        UpstreamError: It could not fetch the model.
    """
    program, hint = ("Ollama", ollama.HINT) if name.provider == OLLAMA else _LM_STUDIO
    try:
        async with httpx.AsyncClient(
            timeout=_TIMEOUT, transport=transport, trust_env=False
        ) as client:
            if name.provider == OLLAMA:
                await _pull_ollama(client, name.name, settings, progress)
            else:
                await _pull_lm_studio(client, name.name, settings, progress, poll_s)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ModelUnavailable(f"{program} is not reachable", hint=hint) from error
    except (httpx.HTTPError, ValueError) as error:
        raise UpstreamError(f"Lost the connection to {program}", hint=_RESUME) from error


_LM_STUDIO = ("LM Studio", lm_studio.HINT)


async def _pull_ollama(
    client: httpx.AsyncClient, name: str, settings: ModelSettings, progress: Progress
) -> None:
    url = f"{settings.ollama_url.rstrip('/')}/api/pull"
    layers: dict[str, tuple[int, int]] = {}
    async with client.stream("POST", url, json={"model": name, "stream": True}) as response:
        if response.is_error:
            raise _refused("Ollama", name, _reason(await response.aread()))
        async for line in response.aiter_lines():
            if not line.strip():
                continue
            event: dict[str, Any] = json.loads(line)
            if error := event.get("error"):
                raise _refused("Ollama", name, str(error))
            if event.get("status") == "success":
                return
            if digest := event.get("digest"):
                layers[digest] = int(event.get("completed") or 0), int(event.get("total") or 0)
                done, total = map(sum, zip(*layers.values(), strict=True))
                progress(done, total or None)
    raise UpstreamError(f"Ollama stopped before {name} was complete", hint=_RESUME)


async def _pull_lm_studio(
    client: httpx.AsyncClient,
    name: str,
    settings: ModelSettings,
    progress: Progress,
    poll_s: float,
) -> None:
    root = f"{settings.lm_studio_url.rstrip('/').removesuffix('/v1')}/api/v1/models/download"
    headers = {"Authorization": f"Bearer {settings.lm_studio_api_key.get_secret_value()}"}
    state = _lm_studio_state(
        await client.post(root, json={"model": name}, headers=headers, timeout=30), name
    )
    while state["status"] not in ("completed", "already_downloaded"):
        if state["status"] == "failed":
            raise _refused("LM Studio", name, "the download failed")
        progress(int(state.get("downloaded_bytes") or 0), state.get("total_size_bytes"))
        await asyncio.sleep(poll_s)
        address = f"{root}/status/{state['job_id']}"
        answer = await client.get(address, headers=headers, timeout=30)
        state = {"job_id": state["job_id"], **_lm_studio_state(answer, name)}


def _lm_studio_state(response: httpx.Response, name: str) -> dict[str, Any]:
    if response.status_code == HTTPStatus.NOT_FOUND and not response.content.startswith(b"{"):
        raise UpstreamError(
            "This LM Studio cannot pull models over its API",
            hint=f"update LM Studio, or run `lms get {name}`",
        )
    if response.is_error:
        raise _refused("LM Studio", name, _reason(response.content))
    state = response.json()
    if not isinstance(state, dict) or "status" not in state:
        raise _refused("LM Studio", name, "the answer has no status")
    return state


def _reason(body: bytes) -> str:
    try:
        error = json.loads(body).get("error")
    except (ValueError, AttributeError):
        return body.decode(errors="replace").strip()[:200]
    return str(error.get("message") if isinstance(error, Mapping) else error)[:200]


def _refused(program: str, name: str, reason: str) -> UpstreamError:
    return UpstreamError(
        f"{program} could not pull {name}: {reason}", hint="check the name of the model"
    )
