"""`make image-root`: build the image's root file system, start it as its user, and use it.

The root is read-only but for `/data` and `/tmp`. Checked from outside, over HTTP: the page, a
research run whose proof verifies, its PDF, a conversation paid with e-cash of the test mint, and a
file in a bucket of the test server. The last line is JSON.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from image_root import ROOT, Image, copy_context

from bathysphere.evidence.proof.check import verify_proof
from bathysphere.testing import GcsServer
from bathysphere.testing.echo_model import echo_model
from bathysphere.testing.mint.process import LocalMint
from bathysphere.testing.postgres import temporary_database
from bathysphere.testing.wallet import Wallet

PORT = "18123"
REDIS = "redis://127.0.0.1:6379/9"
BUCKET = "image"


@dataclass(frozen=True, slots=True)
class Deployment:
    """An API and a worker of the image, and a client with a key."""

    http: httpx.Client
    made: Any = None

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(path, json=body)


@contextmanager
def deployed(image: Image, logs: Path, made: Any = None, **variables: str) -> Iterator[Deployment]:
    """The API and a worker, as processes of the image, over a database of their own."""
    with temporary_database("image") as database:
        settings = {
            **variables,
            "BATHYSPHERE_DATABASE_URL": database,
            "BATHYSPHERE_REDIS_URL": REDIS,
            "BATHYSPHERE_PORT": PORT,
            "BATHYSPHERE_HOST": "127.0.0.1",
            "BATHYSPHERE_RESEARCH_SIGNING_KEY": "0" * 64,
        }
        image.run("migrate", **settings)
        made_key = image.run("keys", "create", "--tenant", "acme", "--user", "ada", **settings)
        worker = {**settings, "BATHYSPHERE_METRICS_PORT": "19101"}
        with (
            image.running("serve", "--no-worker", log=logs / "api.log", **settings),
            image.running("worker", log=logs / "worker.log", **worker),
            httpx.Client(
                base_url=f"http://127.0.0.1:{PORT}",
                headers={"x-api-key": made_key.splitlines()[0]},
                timeout=60,
            ) as http,
        ):
            _wait(http, logs / "api.log")
            yield Deployment(http, made)


def _wait(http: httpx.Client, log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if http.get("/info").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise TimeoutError(log.read_text()[-3000:])


def page(deployment: Deployment) -> None:
    """The browser app, with its first script, and the documentation with every setting."""
    text = deployment.http.get("/").raise_for_status().text
    assert "<title>Bathysphere" in text, text[:300]
    script = text.partition('src="')[2].partition('"')[0]
    assert len(deployment.http.get(script).raise_for_status().content) > 1_000
    settings = deployment.http.get("/help/reference/settings/").raise_for_status().text
    assert "BATHYSPHERE_WEBHOOK_SECRET" in settings, settings[:300]


def research(deployment: Deployment) -> None:
    """A sample research run whose proof verifies, and its PDF."""
    asked = deployment.post("/api/research", query="What depth did the bathysphere reach?")
    first = next(line for line in asked.text.splitlines() if line.startswith("data: "))
    thread = json.loads(first.removeprefix("data: "))["state"]["threadId"]
    done = deployment.post("/api/research/approve", threadId=thread)
    assert '"report"' in done.text, done.text[-2000:]
    proof = deployment.http.get(f"/api/research/{thread}/report", params={"format": "zip"})
    assert verify_proof(proof.raise_for_status().content).ok
    pdf = deployment.http.get(f"/api/research/{thread}/report", params={"format": "pdf"})
    assert pdf.raise_for_status().content.startswith(b"%PDF-")


def payments(deployment: Deployment) -> None:
    """A deposit, a call that is charged, and the rest back."""
    asyncio.run(_pay(deployment))


async def _pay(deployment: Deployment) -> None:
    wallet = Wallet(mint_url=deployment.made.url)
    thread = deployment.post("/threads").json()["thread_id"]
    account = f"/threads/{thread}/payments"
    deployment.post(account, refund_key=wallet.key).raise_for_status()
    request = deployment.post(f"{account}/deposit").headers["x-cashu"]
    token = await wallet.pay(request, amount=50)
    paid = deployment.http.post(f"{account}/deposit", headers={"x-cashu": token})
    credited = paid.raise_for_status().json()["credited"]
    state = _run(deployment, thread, "simple", "Hello")
    assert state["payment_spent_sats"] == 3, state
    deployment.post(f"{account}/close").raise_for_status()
    until = time.monotonic() + 60
    while not (back := deployment.http.get(f"{account}/refunds").json())["is_settled"]:
        if time.monotonic() > until:
            raise TimeoutError(back)
        await asyncio.sleep(0.2)
    assert sum(refund["amount"] for refund in back["refunds"]) == credited - 3


def bucket(deployment: Deployment) -> None:
    """A file that the agent writes after approval is in the bucket."""
    thread = deployment.post("/threads").json()["thread_id"]
    write = f"CALL write_file {json.dumps({'file_path': '/note.md', 'content': 'dive'})}"
    task = {"description": write, "subagent_type": "files"}
    state = _run(deployment, thread, "workspace", f"CALL task {json.dumps(task)}")
    [waiting] = state["__interrupt__"]
    answer = {"resume": {waiting["id"]: {"type": "approve"}}}
    body = {"assistant_id": "workspace", "command": answer}
    deployment.http.post(f"/threads/{thread}/runs/wait", json=body).raise_for_status()
    names = [item["path"] for page in deployment.made.store().list() for item in page]
    assert any(name.endswith("note.md") for name in names), names


def _run(deployment: Deployment, thread: str, agent: str, text: str) -> dict[str, Any]:
    body = {
        "assistant_id": agent,
        "input": {"messages": [{"role": "user", "content": text}]},
    }
    done = deployment.http.post(f"/threads/{thread}/runs/wait", json=body)
    return done.raise_for_status().json()


def main() -> None:
    """Build, use, and tell."""
    folder = Path(sys.argv[1]).resolve()
    copy_context(folder / "context")
    image = Image(folder)
    began = time.monotonic()
    image.build(ROOT / "deploy" / "Containerfile")
    built = time.monotonic() - began
    image.seal(folder / "data")
    _use(image, folder)
    figures = {"seconds": round(built), "mb": image.size() >> 20, "user": image.user}
    works = ["page", "research", "pdf", "payments", "bucket"]
    sys.stdout.write(json.dumps({**figures, "works": works}) + "\n")


def _use(image: Image, logs: Path) -> None:
    with deployed(image, logs) as plain:
        page(plain)
        research(plain)
    with echo_model() as model:
        with LocalMint(seed="a mint for the image") as mint:
            paid = {
                "BATHYSPHERE_PAYMENTS_MINT": mint.url,
                "BATHYSPHERE_PAYMENTS_SECRET": "a secret of the image's campaign",
                "BATHYSPHERE_PAYMENTS_PRICE_STEP": "3",
            }
            with deployed(image, logs, mint, **model, **paid) as charged:
                payments(charged)
        with GcsServer(bucket=BUCKET) as store:
            place = {
                "BATHYSPHERE_STORAGE_KIND": "gcs",
                "BATHYSPHERE_STORAGE_BUCKET": BUCKET,
                "BATHYSPHERE_STORAGE_ENDPOINT": store.url,
                "BATHYSPHERE_STORAGE_SERVICE_ACCOUNT_KEY": store.config.service_account_key or "",
            }
            with deployed(image, logs, store, **model, **place) as stored:
                bucket(stored)


if __name__ == "__main__":
    main()
