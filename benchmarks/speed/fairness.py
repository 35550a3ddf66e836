"""Latency of one tenant while another attacks the server in many ways at once.

Real processes: `bathysphere serve --no-worker` and `bathysphere worker` with their own database and
Redis, and API keys. The victim repeats a script (create a thread, run a short graph on it, read its
state and its history), first on a quiet server, then while the attacker (`fairness_attack.py`, at
the lowest priority) fills slots, sends batches, reads and copies a large history, has hostile pages
parsed, trickles headers and bodies, opens 500 streams and sends hostile input for regular
expressions.

The last line is JSON: `victim_p99_quiet_ms`, `victim_p99_attacked_ms` (of the whole script), their
`ratio`, `rss_peak_mb` (of the largest process), `processes_died`, `victim_failures`, and the share
of processor time that the host gave to other machines in each phase (`cpu_stolen_…`). The goal: a
ratio of at most 2, at most 700 MB per process, and no process dies.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import psutil
from fairness_attack import USERS
from rig import own_database, own_redis

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database, open_pool
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.process.database import migrate_database
from bathysphere.testing.stolen_time import StolenTime

HERE = Path(__file__).parent
VICTIMS = 2


# ── processes ──


class Processes:
    """The processes under attack: their peak memory, and which of them died."""

    def __init__(self) -> None:
        self.started: dict[str, subprocess.Popen[str]] = {}
        self.peaks: dict[str, float] = {}
        self._is_over = Event()
        self._watcher = Thread(target=self._watch, daemon=True)

    def watch(self) -> None:
        self._watcher.start()

    def _watch(self) -> None:
        while not self._is_over.wait(0.2):
            for name, process in self.started.items():
                with contextlib.suppress(psutil.Error):
                    parent = psutil.Process(process.pid)
                    self._record_memory(name, parent)
                    for child in parent.children(recursive=True):
                        self._record_memory(f"child of {name}", child)

    def _record_memory(self, name: str, process: psutil.Process) -> None:
        with contextlib.suppress(psutil.Error):
            size = process.memory_info().rss / 2**20
            self.peaks[name] = max(self.peaks.get(name, 0), size)

    def cpu_seconds(self) -> dict[str, float]:
        """Processor time used so far by each process, and by PostgreSQL as a whole."""
        used = {name: _cpu_seconds(psutil.Process(p.pid)) for name, p in self.started.items()}
        servers = (p for p in psutil.process_iter() if p.name() == "postgres")
        return {**used, "postgres": sum(map(_cpu_seconds, servers))}

    def dead(self) -> list[str]:
        return [name for name, process in self.started.items() if process.poll() is not None]

    def stop(self) -> None:
        self._is_over.set()
        for process in self.started.values():
            process.terminate()
        for process in self.started.values():
            end(process)


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system


def cpu_shares(before: dict[str, float], after: dict[str, float], seconds: float) -> str:
    """Return what share of one core each process used."""
    shares = ((name, (after[name] - before[name]) / seconds) for name in after)
    return ", ".join(f"{name} {share:.0%}" for name, share in shares)


def end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def start(arguments: list[str], env: dict[str, str], log: Path) -> subprocess.Popen[str]:
    with log.open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", *arguments],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # a scheduling group of its own, as a service has
        )


def first_line(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        sys.exit(f"A process did not start:\n{log.read_text()[-2000:]}")
    return line


@contextlib.contextmanager
def start_server(
    database: str, redis: str, site: str, folder: Path
) -> Iterator[tuple[Processes, int]]:
    """Start an API process and a worker; yield them and the port of the API."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BATHYSPHERE_")}
    env = {
        **clean,
        "BATHYSPHERE_FETCH_PINNED_HOSTS": f"site.example={site}",
        "BATHYSPHERE_DRAIN_SECONDS": "1",
        "BATHYSPHERE_STREAM_CLOSE_SECONDS": "0",
        "BATHYSPHERE_LOG_FORMAT": "json",
    }
    services = ["--database-url", database, "--redis-url", redis]
    served = ["serve", "--port", "0", "--auth", "api-key", "--no-worker"]
    processes = Processes()
    try:
        for name, command in (("api", served), ("worker", ["worker"])):
            arguments = [str(HERE / "fairness_server.py"), *command, *services]
            processes.started[name] = start(arguments, env, folder / f"{name}.log")
        for name, process in processes.started.items():
            line = first_line(process, folder / f"{name}.log")
            if name == "api":
                url = next(word for word in line.split() if word.startswith("http"))
        processes.watch()
        yield processes, httpx.URL(url).port or 0
    finally:
        processes.stop()


# ── the victim ──


@dataclass
class Times:
    """Durations and failures of the victim's script."""

    seconds: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    steps: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def p99_ms(self) -> float:
        # Not interpolated: with a few hundred figures the second worst is close to the 99th.
        if not self.seconds:
            return float("inf")
        return sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))] * 1000

    def p50_ms(self) -> float:
        return statistics.median(self.seconds) * 1000 if self.seconds else float("inf")

    def __str__(self) -> str:
        worst = ", ".join(
            f"{name} {statistics.median(taken) * 1000:.0f}/{max(taken) * 1000:.0f}"
            for name, taken in self.steps.items()
        )
        scripts = zip(self.seconds, self.starts, self.details, strict=True)
        slowest = sorted(scripts, reverse=True)[:6]
        when = ", ".join(f"{at:.1f} s ({detail})" for _, at, detail in slowest)
        return (
            f"{len(self.seconds)} scripts, p50 {self.p50_ms():.0f} ms, p99 {self.p99_ms():.0f} ms;"
            f" median/worst of its steps in ms: {worst};"
            f" slowest scripts by their start: {when}"
        )


async def script(client: httpx.AsyncClient, times: Times) -> None:
    began = time.perf_counter()
    steps: list[str] = []

    async def ask(step: str, method: str, path: str, **more: Any) -> Any:
        at = time.perf_counter()
        answer = await client.request(method, path, **more)
        taken = time.perf_counter() - at
        times.steps.setdefault(step, []).append(taken)
        steps.append(f"{step} {taken * 1000:.0f}")
        answer.raise_for_status()
        return answer.json()

    try:
        thread = (await ask("create", "POST", "/threads", json={}))["thread_id"]
        run = {"assistant_id": "short", "input": {"items": ["hello"]}}
        state = await ask("run", "POST", f"/threads/{thread}/runs/wait", json=run)
        if state.get("items") != ["hello", "first", "second"]:
            times.failures.append(f"the run returned {state}")
        await ask("state", "GET", f"/threads/{thread}/state")
        await ask("history", "POST", f"/threads/{thread}/history", json={"limit": 10})
    except httpx.HTTPError as error:
        times.failures.append(f"{type(error).__name__}: {error}"[:200])
    times.seconds.append(time.perf_counter() - began)
    times.starts.append(began - times.began)
    times.details.append(", ".join(steps))


async def victim(port: int, keys: list[str], seconds: float) -> Times:
    times = Times()
    until = time.perf_counter() + seconds

    async def one(key: str) -> None:
        headers = {"authorization": f"Bearer {key}"}
        place = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=place, headers=headers, timeout=60) as client:
            while time.perf_counter() < until:
                await script(client, times)
                await asyncio.sleep(0.1)

    await asyncio.gather(*(one(key) for key in keys))
    return times


# ── the measurement ──


@contextlib.asynccontextmanager
async def tenant_keys(database: str) -> AsyncIterator[tuple[list[str], list[str]]]:
    """Create API keys for the users of the victim and the attacker."""
    place = Database(url=database)
    await migrate_database(place)
    async with open_pool(place) as pool:
        keys = ApiKeys(pool)

        async def create_keys(tenant: str, count: int) -> list[str]:
            owners = [Owner(tenant=tenant, user=f"user{number}") for number in range(count)]
            return [
                (await keys.create(owner, label="", expires_at=None)).secret for owner in owners
            ]

        yield await create_keys("victim", VICTIMS), await create_keys("attacker", USERS)


async def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    log = folder / "attack.log"
    attacker = start([str(HERE / "fairness_attack.py")], dict(os.environ), log)
    try:
        site = first_line(attacker, log)
        with own_database() as database, own_redis() as redis:
            async with tenant_keys(database) as (victims, attackers):
                with start_server(database, redis, site, folder) as (processes, port):
                    request = {
                        "port": port,
                        "keys": attackers,
                        "seconds": options.seconds + 2,
                        "streams": options.streams,
                        "copies": options.copies,
                    }
                    return await phases(options, processes, attacker, request, victims)
    finally:
        end(attacker)


async def phases(
    options: argparse.Namespace,
    processes: Processes,
    attacker: subprocess.Popen[str],
    request: dict[str, Any],
    keys: list[str],
) -> dict[str, Any]:
    assert attacker.stdin is not None
    assert attacker.stdout is not None
    port: int = request["port"]
    await victim(port, keys, 1)  # warm
    stolen = StolenTime()
    used = processes.cpu_seconds()
    quiet = await victim(port, keys, options.quiet)
    print(f"of one core: {cpu_shares(used, processes.cpu_seconds(), options.quiet)}")
    stolen_quiet = stolen.share()
    print(f"quiet: {quiet}", flush=True)
    attacker.stdin.write(json.dumps(request) + "\n")
    attacker.stdin.flush()
    await asyncio.to_thread(attacker.stdout.readline)
    attacker.stdin.write("go\n")
    attacker.stdin.flush()
    await asyncio.sleep(1)
    stolen = StolenTime()
    used = processes.cpu_seconds()
    attacked = await victim(port, keys, options.seconds)
    print(f"of one core: {cpu_shares(used, processes.cpu_seconds(), options.seconds)}")
    stolen_attacked = stolen.share()
    dead = processes.dead()
    print(f"attacked: {attacked}")
    answers = await asyncio.wait_for(asyncio.to_thread(attacker.stdout.readline), 60)
    for kind, counts in json.loads(answers or "{}").items():
        print(f"  {kind}: {', '.join(f'{status} × {n}' for status, n in counts.items())}")
    dead = sorted({*dead, *processes.dead()})
    sizes = ", ".join(f"{name} {size:.0f} MB" for name, size in processes.peaks.items())
    print(f"peak memory: {sizes}; died: {dead or 'none'}; load {os.getloadavg()[0]:.1f}")
    failures = quiet.failures + attacked.failures
    for failure in failures[:5]:
        print(f"  victim failed: {failure}")
    return {
        "victim_p99_quiet_ms": round(quiet.p99_ms(), 1),
        "victim_p99_attacked_ms": round(attacked.p99_ms(), 1),
        "ratio": round(attacked.p99_ms() / quiet.p99_ms(), 2),
        "victim_p50_quiet_ms": round(quiet.p50_ms(), 1),
        "victim_p50_attacked_ms": round(attacked.p50_ms(), 1),
        "victim_scripts": len(attacked.seconds),
        "victim_failures": len(failures),
        "rss_peak_mb": round(max(processes.peaks.values())),
        "processes_died": len(dead),
        "cpu_stolen_quiet_percent": round(100 * stolen_quiet, 1),
        "cpu_stolen_attacked_percent": round(100 * stolen_attacked, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", type=float, default=30, help="seconds without the attacker")
    parser.add_argument("--seconds", type=float, default=60, help="seconds with the attacker")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--logs", type=Path, help="folder to keep the logs in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.logs or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        figures = asyncio.run(measure(options, place))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
