"""The wallet in the browser: a real mint, the real server and its ledger, real Chromium.

Money is counted on all three sides: what the browser's wallet holds, what the server's ledger says,
and what the mint has signed and not seen again.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from rigging import ROOT, Rig, rigged, tell

from bathysphere.payments.nuts import curve
from bathysphere.testing import calls, says
from bathysphere.testing.mint import LocalMint
from bathysphere.testing.wallet import Wallet

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(240)]
SECRET = "the payments secret of the wallet's stories"
PRICE = 50
BATHYSPHERE = [str(Path(sys.executable).with_name("bathysphere"))]


@pytest.fixture(scope="module")
def mint() -> Iterator[LocalMint]:
    with LocalMint(seed="a mint for the browser", fee_ppk=100) as mint:
        yield mint


def paying(mint: LocalMint) -> dict[str, str]:
    return {
        "BATHYSPHERE_PAYMENTS_MINT": mint.url,
        "BATHYSPHERE_PAYMENTS_SECRET": SECRET,
        "BATHYSPHERE_PAYMENTS_PRICE_STEP": str(PRICE),
        "BATHYSPHERE_PAYMENTS_RATE": "0.0006 EUR",
        "BATHYSPHERE_PAYMENTS_SWEEP_SECONDS": "0.3",
    }


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, mint: LocalMint) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("wallet")
    with rigged(folder, paying(mint), {"STORY_MINT": mint.url}) as found:
        yield found


class Books:
    """What each side says, and how it has changed since the story began."""

    def __init__(self, rig: Rig, mint: LocalMint) -> None:
        self._rig, self._mint = rig, mint
        self._before = self._now()

    def _now(self) -> dict[str, int]:
        with psycopg.connect(self._rig.database) as db:
            [spent, refunded, held] = db.execute(
                "SELECT coalesce(sum(spent), 0), coalesce(sum(refunded), 0),"
                " coalesce(sum(balance), 0) FROM payments.sessions"
            ).fetchone() or (0, 0, 0)
            [vault] = db.execute("SELECT coalesce(sum(amount), 0) FROM payments.vault").fetchone()
        with self._mint.database() as database:
            [signed] = database.execute(
                "SELECT coalesce(sum(amount), 0) FROM promises WHERE c_ IS NOT NULL"
            ).fetchone()
            [used] = database.execute("SELECT coalesce(sum(amount), 0) FROM proofs_used").fetchone()
        figures = {"spent": spent, "refunded": refunded, "held": held, "vault": vault}
        return {name: int(value) for name, value in figures.items()} | {"out": signed - used}

    def change(self) -> dict[str, int]:
        now = self._now()
        return {name: now[name] - self._before[name] for name in now}


@pytest.fixture
def books(rig: Rig, mint: LocalMint) -> Books:
    return Books(rig, mint)


def audited(rig: Rig, mint: LocalMint) -> dict[str, Any]:
    """`bathysphere payments audit`: exits with 3 when an invariant fails."""
    done = subprocess.run(
        [*BATHYSPHERE, "payments", "--database-url", rig.database, "audit"],
        env={**os.environ, **paying(mint)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def unspent(mint: LocalMint, coins: list[dict[str, Any]]) -> int:
    """What the mint says that the browser's coins are worth."""
    ys = [curve.hash_to_curve(coin["secret"].encode()).hex() for coin in coins]
    answer = httpx.post(f"{mint.url}/v1/checkstate", json={"Ys": ys}, trust_env=False).json()
    states = {each["Y"]: each["state"] for each in answer["states"]}
    return sum(c["amount"] for c, y in zip(coins, ys, strict=True) if states[y] == "UNSPENT")


def step(n: int) -> object:
    counted = [{"content": f"Count to {m}", "status": "completed"} for m in range(1, n + 1)]
    return calls("write_todos", todos=counted)  # a plan that did not advance would end the run


def test_from_the_mint_to_the_refund_every_sat_agrees(story, rig, mint, books):
    script = [*(step(n) for n in range(1, 6)), says("Counted to five.")]
    told = story("wallet_row", script)
    change = books.change()
    assert told["balance"] == unspent(mint, told["coins"]) == 695
    assert change["spent"] == change["vault"] == 6 * PRICE
    assert (change["refunded"], change["held"]) == (55, 0)
    fees = 1 + 1 + 2 + 1  # two locks, two settlements, one refund
    assert change["out"] == 695 + 6 * PRICE == 1000 - fees
    audited(rig, mint)


def test_one_step_to_pay_and_the_run_goes_on(story, rig, mint, books):
    script = [step(1), says("Counted to two."), says("Counted once more.")]
    told = story("wallet_pay", script)
    change = books.change()
    assert told["balance"] == unspent(mint, told["coins"]) == 192 + 139
    assert change["spent"] == change["vault"] == 3 * PRICE
    assert (change["refunded"], change["held"]) == (140, 0)
    paid = 102 + 192 + 192  # each invoice that a button named
    fees = 2 + 2 + 1  # two locks, two settlements, one refund
    assert change["out"] == told["balance"] + change["vault"] == paid - fees
    audited(rig, mint)


def agreed(told, mint, books):
    """The browser's coins are unspent, and with what was earned they are all that is out."""
    change = books.change()
    assert told["balance"] == unspent(mint, told["coins"])
    assert change["out"] == told["balance"] + change["vault"]
    assert change["held"] == 0
    return change


@pytest.mark.long(
    "tests/e2e/web/test_wallet_stories.py::test_from_the_mint_to_the_refund_every_sat_agrees"
)
def test_a_lost_answer_loses_nothing(story, rig, mint, books):
    change = agreed(story("wallet_lost"), mint, books)
    assert (change["spent"], change["refunded"]) == (0, 354)
    audited(rig, mint)


@pytest.mark.long(
    "tests/e2e/web/test_wallet_stories.py::test_from_the_mint_to_the_refund_every_sat_agrees"
)
def test_two_tabs_have_one_wallet(story, rig, mint, books):
    change = agreed(story("wallet_tabs"), mint, books)
    assert (change["spent"], change["refunded"]) == (0, 299 + 399)
    audited(rig, mint)


@pytest.mark.long(
    "tests/e2e/web/test_wallet_stories.py::test_from_the_mint_to_the_refund_every_sat_agrees"
)
def test_a_backup_and_the_words_keep_the_money(story, rig, mint, books):
    change = agreed(story("wallet_backup"), mint, books)
    assert (change["spent"], change["refunded"]) == (0, 255)
    audited(rig, mint)


def tokens(mint, evil_mint):
    """One that is good, one that was spent, one of another mint."""

    async def made():
        friend, stranger = Wallet(mint_url=mint.url), Wallet(mint_url=evil_mint.url)
        for wallet in (friend, stranger):
            await wallet.fund(64)
        good, bad = friend.token(friend.proofs), stranger.token(stranger.proofs)
        friend.proofs = []
        await friend.fund(32)
        spent = friend.token(friend.proofs)
        await friend.receive(spent)
        return " ".join([good, spent, bad])

    return asyncio.run(made())


@pytest.mark.long("tests/e2e/web/test_wallet_stories.py::test_one_step_to_pay_and_the_run_goes_on")
def test_tokens_are_taken_in_and_a_run_that_is_not_paid_for_stops(
    story, rig, mint, evil_mint, books
):
    rig.told["STORY_TOKENS"] = tokens(mint, evil_mint)
    told = story("wallet_token", [says("Something.")])
    change = books.change()
    assert told["balance"] == unspent(mint, told["coins"])
    kept_by_the_friend = 31
    assert change["out"] == told["balance"] + change["vault"] + kept_by_the_friend
    assert (change["spent"], change["held"]) == (PRICE, 0)
    audited(rig, mint)


COUNTED = [step(1), says("Counted to two.")]


@pytest.mark.long("tests/e2e/web/test_wallet_stories.py::test_one_step_to_pay_and_the_run_goes_on")
def test_every_view_is_accessible_in_every_form(story, rig, mint):
    story("wallet_views", COUNTED)
    audited(rig, mint)


def test_without_payment_there_is_no_wallet(tmp_path):
    with rigged(tmp_path) as rig:
        rig.model.play([says("For nothing.")])
        tell(rig, "wallet_off", seconds=60)


def test_the_page_may_call_the_mint_and_nothing_else(rig, mint):
    policy = httpx.get(rig.url, trust_env=False).headers["content-security-policy"]
    assert f"connect-src 'self' {mint.url};" in policy


@pytest.mark.long(
    "tests/e2e/web/test_wallet_stories.py::test_from_the_mint_to_the_refund_every_sat_agrees"
)
def test_the_wallet_and_a_real_mint_with_a_broken_wire(fee_mint):
    """The library alone: each request lost, cut and refused; copies, backups, words, old locks."""
    done = subprocess.run(
        ["npm", "run", "--silent", "--prefix", str(ROOT / "web"), "test:mint"],
        env={**os.environ, "MINT_URL": fee_mint.url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
