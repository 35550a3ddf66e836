"""What sealing and opening a value costs, by its size; the last line is JSON."""

import base64
import json
import os
import secrets
import statistics
import time

from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.keys import MasterKeys
from bathysphere.engine.encryption.places import channel_place

SIZES = (100, 4_000, 64_000, 1_000_000)
PLACE = channel_place("0193c7c2-9f55-7c3e-b3a0-5f2f1f1f9a11", "", "messages", f"{7:032}.0.5")


def measure(act, rounds: int) -> float:
    """The median of several rounds, in microseconds per call."""
    spans = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(rounds):
            act()
        spans.append((time.perf_counter() - began) / rounds * 1e6)
    return round(statistics.median(spans), 1)


def main() -> None:
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    keys = MasterKeys.parse(f"k:{key}")
    cipher = Encryption(keys).tenant("acme")
    found = {}
    for size in SIZES:
        data = os.urandom(size)
        kind, sealed = cipher.seal_typed("msgpack", data, PLACE)
        rounds = max(20, min(2000, 20_000_000 // size))
        found[size] = {
            "seal_us": measure(lambda data=data: cipher.seal_typed("msgpack", data, PLACE), rounds),
            "open_us": measure(
                lambda kind=kind, sealed=sealed: cipher.open_typed(kind, sealed, PLACE), rounds
            ),
        }
        print(f"{size:>9} bytes: {found[size]}")
    tenant = measure(lambda: Encryption(keys).tenant("acme"), 200)
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({"by_bytes": found, "first_use_of_a_tenant_us": tenant, "load": load}))


if __name__ == "__main__":
    main()
