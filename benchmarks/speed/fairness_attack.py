"""The attacker of the fairness benchmark: one tenant that attacks in many ways at once.

Run by `fairness.py`, at the lowest priority, so that the server is measured and not the load
generator. It prints the address of its hostile site, then reads JSON from standard input: the
server's port, the keys of the tenant's users and the duration. It prepares a large thread, prints
`prepared`, waits for a line and attacks. Everything is bounded in number and time. The last line is
JSON: responses by status, per kind of attack.
"""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

SEEDS = (
    "a" * 50_000 + "!",
    " " * 50_000 + "x",
    "(" * 20_000,
    "https://" * 5_000,
    "1,1" * 15_000 + ".",
    "[](" * 15_000,
    "\n- " * 15_000 + "\t",
)
PAGES: dict[str, tuple[str, bytes]] = {
    "/punycode": ("text/html; charset=punycode", b"<p>" + b"ab-" * 30_000),
    "/paragraphs": ("text/html", b"<p>" * 600_000),
    "/deep": ("text/html", b"<div>" * 100_000 + b"text"),
    "/tables": ("text/html", b"<table><tr><td>" * 50_000),
    **{
        f"/seed{number}": ("text/html", f"<article><p>{seed}</p></article>".encode())
        for number, seed in enumerate(SEEDS)
    },
}
UPDATES, UPDATE_BYTES = 12, 200_000
USERS, STREAMERS = 7, 4
"""The tenant's last users hold streams, so that the requests of the others are not refused."""


class Site(BaseHTTPRequestHandler):
    """The hostile site."""

    def do_GET(self) -> None:
        kind, body = PAGES.get(self.path, ("text/plain", b"nothing"))
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Attack:
    """The attacks of one tenant, and the statuses of the responses."""

    port: int
    keys: list[str]
    seconds: float
    streams: int
    copies: int
    statuses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def __post_init__(self) -> None:
        self.clients = [
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{self.port}",
                headers={"authorization": f"Bearer {key}"},
                timeout=60,
                limits=httpx.Limits(max_connections=50),
            )
            for key in self.keys
        ]
        self.big = ""

    async def ask(self, kind: str, user: int, method: str, path: str, **more: Any) -> Any:
        try:
            answer = await self.clients[user].request(method, path, **more)
        except httpx.HTTPError as error:
            self.statuses[kind][type(error).__name__] += 1
            return None
        self.statuses[kind][str(answer.status_code)] += 1
        return answer

    async def thread(self, kind: str, user: int) -> str | None:
        answer = await self.ask(kind, user, "POST", "/threads", json={})
        return answer.json()["thread_id"] if answer is not None and answer.is_success else None

    async def prepare(self) -> None:
        """Create a thread with a large history, in which each state includes the ones before."""
        self.big = await self.thread("prepare", 0) or sys.exit("Could not create a thread")
        run = {"assistant_id": "short", "input": {"items": []}}
        await self.ask("prepare", 0, "POST", f"/threads/{self.big}/runs/wait", json=run)
        for _ in range(UPDATES):
            values = {"items": [secrets.token_hex(UPDATE_BYTES // 2)]}
            body = {"values": values, "as_node": "second"}
            await self.ask("prepare", 0, "POST", f"/threads/{self.big}/state", json=body)

    async def attack_all(self) -> None:
        async def forever(attack: Callable[[int], Awaitable[None]], user: int) -> None:
            while True:
                await attack(user)
                await asyncio.sleep(0.02)

        holders = [await self.thread("streams", user) for user in range(STREAMERS, USERS)]
        work = [
            *(forever(self.history, 0) for _ in range(4)),
            self.copy_big(),
            *(forever(attack, user) for attack in (self.slots, self.batches) for user in (1, 2)),
            *(forever(self.pages, user) for user in (2, 3) for _ in range(4)),
            *(forever(self.seeds, user) for user in (3, 3)),
            *(self.slow_headers() for _ in range(100)),
            *(self.slow_body(user) for user in (2, 3) for _ in range(10)),
            *(self.stream(n % len(holders), holders) for n in range(self.streams)),
        ]
        tasks = [asyncio.ensure_future(one) for one in work]
        await asyncio.wait(tasks, timeout=self.seconds, return_when=asyncio.ALL_COMPLETED)
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                self.statuses["broken"][repr(ended)[:120]] += 1

    # ── each kind ──

    async def slots(self, user: int) -> None:
        if thread := await self.thread("slots", user):
            body = {"assistant_id": "slow", "input": {"seconds": 60}}
            await self.ask("slots", user, "POST", f"/threads/{thread}/runs", json=body)

    async def batches(self, user: int) -> None:
        body = [{"assistant_id": "slow", "input": {"seconds": 5}}] * 100
        await self.ask("batches", user, "POST", "/runs/batch", json=body)
        await asyncio.sleep(1)

    async def history(self, user: int) -> None:
        await self.ask("history", user, "POST", f"/threads/{self.big}/history", json={"limit": 100})

    async def copy_big(self) -> None:
        for _ in range(self.copies):
            await self.ask("copies", 0, "POST", f"/threads/{self.big}/copy")

    async def pages(self, user: int) -> None:
        for path in PAGES:
            body = {"url": f"http://site.example{path}"}
            await self.ask("pages", user, "POST", "/api/pages", json=body)

    async def seeds(self, user: int) -> None:
        for number, seed in enumerate(SEEDS):
            item = {"namespace": ["seeds"], "key": str(number), "value": {"text": seed}}
            await self.ask("seeds", user, "PUT", "/store/items", json=item)
            search = {"title_contains": seed[:200], "metadata": {"title": seed}}
            await self.ask("seeds", user, "POST", "/threads/search", json=search)
            run = {"assistant_id": "short", "input": {"items": [seed]}}
            await self.ask("seeds", user, "POST", "/runs", json=run)

    async def slow_headers(self) -> None:
        await self.trickle("slow headers", b"GET /ok HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")

    async def slow_body(self, user: int) -> None:
        head = (
            f"POST /threads HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.keys[user]}\r\nContent-Type: application/json\r\n"
            "Content-Length: 1000000\r\n\r\n"
        )
        await self.trickle("slow bodies", head.encode())

    async def trickle(self, kind: str, head: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.statuses[kind]["opened"] += 1
        try:
            writer.write(head)
            while not reader.at_eof() and not writer.is_closing():
                writer.write(b"x")
                with contextlib.suppress(TimeoutError):
                    if await asyncio.wait_for(reader.read(1000), 0.5):
                        self.statuses[kind]["refused"] += 1
                        return
            self.statuses[kind]["closed"] += 1
        except OSError:
            self.statuses[kind]["closed"] += 1
        finally:
            writer.close()

    async def stream(self, number: int, threads: list[str | None]) -> None:
        """Hold a stream of events open, and count its status."""
        key = self.keys[STREAMERS + number]
        body = b'{"channels":["custom"]}'
        head = (
            f"POST /threads/{threads[number]}/stream/events HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(head.encode() + body)
            first = await reader.readline()
            self.statuses["streams"][first.decode()[9:12] or "closed"] += 1
            while await reader.read(65_536):
                pass
        except OSError:
            self.statuses["streams"]["closed"] += 1
        finally:
            writer.close()


async def main(request: dict[str, Any]) -> None:
    attack = Attack(**request)
    await attack.prepare()
    print("prepared", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await attack.attack_all()
    print(json.dumps(attack.statuses))
    sys.stdout.flush()
    os._exit(0)  # no cleanup needed: sockets and threads end with the process


if __name__ == "__main__":
    os.nice(19)
    with contextlib.suppress(OSError):  # only where the kernel schedules by session
        Path("/proc/self/autogroup").write_text("19")
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=site.serve_forever, daemon=True).start()
    print(f"127.0.0.1:{site.server_port}", flush=True)
    asyncio.run(main(json.loads(sys.stdin.readline())))
