"""HTTP client of the mint (NUT-01, 02, 03, 06, 07, 09), and a cache of its keysets.

A request can fail in two ways, and the difference is money: `MintRefused` means that it had no
effect, `MintUnknown` that the outcome is unknown. Only an HTTP 400 with the mint's error code is a
refusal.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import httpx

from bathysphere.core.clock import Clock
from bathysphere.payments.errors import MintRefused, MintUnfit, MintUnknown
from bathysphere.payments.nuts.keysets import Keyset, Keysets, keyset_from_wire
from bathysphere.payments.nuts.proofs import (
    BadWire,
    BlindedMessage,
    BlindSignature,
    wire_list,
    wire_map,
    wire_point,
    wire_text,
)

State: TypeAlias = Literal["UNSPENT", "PENDING", "SPENT"]
NEEDED_NUTS = (7, 9, 10, 11, 12)
TIMEOUT_SECONDS = 10.0
MAX_BODY = 2_000_000
_BATCH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The mint's signatures on those of the requested outputs that it has signed, by `B_`."""

    signatures: dict[bytes, BlindSignature]


class MintClient:
    """Client of the configured mint; never connects to any other URL."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=self.url,
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,
            # Certificates take 50 ms to load, and a mint on loopback has none.
            verify=self.url.startswith("https:"),
            transport=transport,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def info(self) -> dict[str, Any]:
        """Fetch the mint's info (NUT-06)."""
        return await self._request("GET", "/v1/info")

    async def check_fit(self) -> None:
        """Raise `MintUnfit` unless the mint supports state checks, restore, locks and DLEQ."""
        nuts = (await self.info()).get("nuts")
        listed = nuts if isinstance(nuts, dict) else {}
        missing = [nut for nut in NEEDED_NUTS if not _supports(listed.get(str(nut)))]
        if missing:
            names = ", ".join(f"NUT-{nut:02}" for nut in missing)
            message = f"The mint at {self.url} does not support {names}"
            raise MintUnfit(message, hint="configure another mint")

    async def keysets(self) -> Keysets:
        """Fetch every keyset with its keys, and verify each against its id."""
        try:
            listed = wire_list((await self._request("GET", "/v1/keysets")).get("keysets"))
            return Keysets([await self._keyset(wire_map(each)) for each in listed])
        except ValueError as error:
            raise _invalid(str(error)) from error

    async def _keyset(self, listed: Mapping[str, Any]) -> Keyset:
        # Parsing it as hex keeps the id from reaching another path of the mint.
        keyset_id = bytes.fromhex(wire_text(listed.get("id"))).hex()
        response = await self._request("GET", f"/v1/keys/{keyset_id}")
        [found] = wire_list(response.get("keysets"))
        return keyset_from_wire(listed, wire_map(found).get("keys"))

    async def swap(self, body: str) -> list[BlindSignature]:
        """Exchange inputs for signatures on outputs (NUT-03); `body` is sent as it is."""
        response = await self._request("POST", "/v1/swap", body)
        try:
            signatures = wire_list(response.get("signatures"))
            return [BlindSignature.from_wire(signature) for signature in signatures]
        except BadWire as error:
            raise _invalid(str(error)) from error

    async def restore(self, outputs: Sequence[BlindedMessage]) -> Restored:
        """Fetch the signatures on outputs that the mint has already signed (NUT-09)."""
        body = json.dumps({"outputs": [output.wire() for output in outputs]})
        response = await self._request("POST", "/v1/restore", body)
        try:
            names = [wire_map(each).get("B_") for each in wire_list(response.get("outputs"))]
            signed = [BlindSignature.from_wire(each) for each in wire_list(response["signatures"])]
            pairs = zip(map(wire_point, names), signed, strict=True)
            return Restored(signatures=dict(pairs))
        except (BadWire, KeyError, ValueError) as error:
            raise _invalid(str(error)) from error

    async def states(self, ys: Sequence[bytes]) -> list[State]:
        """Fetch whether proofs are unspent, pending or spent (NUT-07), in the order of `ys`."""
        found: dict[bytes, State] = {}
        for start in range(0, len(ys), _BATCH):
            body = json.dumps({"Ys": [y.hex() for y in ys[start : start + _BATCH]]})
            found |= _states(await self._request("POST", "/v1/checkstate", body))
        try:
            return [found[y] for y in ys]
        except KeyError as error:
            message = "missing proof state"
            raise _invalid(message) from error

    async def _request(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        try:
            async with asyncio.timeout(2 * self._timeout):
                status, text = await self._exchange(method, path, body)
        except (httpx.HTTPError, TimeoutError, httpx.InvalidURL) as error:
            message = f"Request to the mint failed: {type(error).__name__}"
            raise MintUnknown(message) from error
        response = _json(text)
        if status == httpx.codes.BAD_REQUEST and _is_code(response.get("code")):
            raise MintRefused(response["code"], str(response.get("detail", "")))
        if status != httpx.codes.OK:
            message = f"The mint returned status {status}"
            raise MintUnknown(message)
        return response

    async def _exchange(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        headers = {"content-type": "application/json"} if body is not None else {}
        async with self._http.stream(method, path, content=body, headers=headers) as response:
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > MAX_BODY:
                    message = f"The mint's response is larger than {MAX_BODY} bytes"
                    raise MintUnknown(message)
            return response.status_code, bytes(received)


def _supports(setting: Any) -> bool:
    return isinstance(setting, dict) and setting.get("supported") is True


def _is_code(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _json(text: bytes) -> dict[str, Any]:
    try:
        return dict(wire_map(json.loads(text)))
    except (ValueError, RecursionError) as error:
        message = "not a JSON object"
        raise _invalid(message) from error


def _states(response: dict[str, Any]) -> dict[bytes, State]:
    try:
        entries = [wire_map(each) for each in wire_list(response.get("states"))]
        found = {wire_point(entry.get("Y")): wire_text(entry.get("state")) for entry in entries}
    except BadWire as error:
        raise _invalid(str(error)) from error
    if not set(found.values()) <= set(get_args(State)):
        message = "unknown proof state"
        raise _invalid(message)
    return cast("dict[bytes, State]", found)


def _invalid(detail: str) -> MintUnknown:
    return MintUnknown(f"Invalid response from the mint: {detail[:200]}")


class KeysetBook:
    """Cache of the mint's keysets, reloaded when an unknown one turns up."""

    def __init__(self, mint: MintClient, clock: Clock, *, min_seconds: float = 30.0) -> None:
        self._mint = mint
        self._clock = clock
        self._min_seconds = min_seconds
        self._lock = asyncio.Lock()
        self._known: Keysets | None = None
        self._loaded_at = 0.0

    async def get(self) -> Keysets:
        """Return the known keysets, fetching them the first time."""
        if self._known is None:
            return await self.reload()
        return self._known

    async def reload(self) -> Keysets:
        """Fetch the keysets again, at most once per `min_seconds`: any stranger can trigger it."""
        async with self._lock:
            now = self._clock.monotonic()
            if self._known is None or now - self._loaded_at >= self._min_seconds:
                self._known = await self._mint.keysets()
                self._loaded_at = now
            return self._known
