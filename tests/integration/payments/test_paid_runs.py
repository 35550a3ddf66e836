"""From a token to a refund, over HTTP: a real mint, a real ledger, a worker."""

import asyncio
import re

import psycopg
import pytest
from ledger_rig import empty
from paid_town import Town, open_town

from bathysphere.core.clock import SystemClock
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.testing import ScriptedChatModel, hangs, says
from bathysphere.testing.wallet import Wallet

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]


@pytest.fixture
async def town(payments_database, fee_mint):
    empty(payments_database)
    async with open_town(payments_database, fee_mint.url) as town:
        yield town


@pytest.fixture
def wallet(fee_mint) -> Wallet:
    return Wallet(mint_url=fee_mint.url)


def question(state):
    (asked,) = state["__interrupt__"]
    return asked["value"]


async def test_a_person_sees_the_price_pays_is_stopped_tops_up_and_gets_the_rest_back(
    town: Town, wallet: Wallet
):
    terms = (await town.call("GET", "/payments")).json()
    assert (terms["enabled"], terms["price"]["step"], terms["unit"]) == (True, 10, "sat")
    thread = await town.thread(wallet)
    paid = await town.pay(thread, wallet, 26)
    assert (paid["credited"], paid["is_new"]) == (25, True)
    paused = await town.run(thread, "4")
    asked = question(paused)
    assert (asked["type"], asked["needed_sats"], asked["balance_sats"]) == (
        "payment_exhausted", 10, 5,
    )  # fmt: skip
    assert (paused["payment_balance_sats"], paused["payment_spent_sats"]) == (5, 20)
    token = await wallet.pay(asked["request"], amount=64)
    state = await town.run(thread, None, resume={"token": token})
    assert state["messages"][-1]["content"] == "done"
    assert (await town.account(thread))["spent"] == 40
    assert await town.refunds(thread, wallet) == 25 + 63 - 40
    assert wallet.balance == 48 - 1  # what the mint takes for the swap that receives it
    books = await town.books()
    assert (books.violations, books.vault, books.held) == ((), 40, 0)


async def test_a_tree_of_agents_pays_for_every_call_and_shares_one_token(
    town: Town, wallet: Wallet
):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 31)
    paused = await town.run(thread, "tree 2")
    asked = paused["__interrupt__"]
    assert len(asked) == 2
    token = await wallet.pay(asked[0]["value"]["request"], amount=64)
    state = await town.run(thread, None, resume={one["id"]: {"token": token} for one in asked})
    assert state["messages"][-1]["content"] == "done"
    account = await town.account(thread)
    assert (account["spent"], account["balance"]) == (60, 30 + 63 - 60)


async def test_tokens_that_are_no_good_are_refused_and_cost_nothing(
    town: Town, wallet: Wallet, evil_mint
):
    thread, other = await town.thread(wallet), await town.thread(wallet)
    path = f"/threads/{thread}/payments/deposit"
    asked = (await town.call("POST", path)).headers["x-cashu"]
    good = await wallet.pay(asked, amount=8)
    evil = await Wallet(mint_url=evil_mint.url).pay(asked, amount=8)
    plain = wallet.token(await wallet.issue([wallet.plain(8)]))
    for token in ("cashuBgarbage", "cashuAeyJ0b2tlbiI6W119", evil, plain, good[:-3]):
        answer = await town.call("POST", path, headers={"x-cashu": token})
        assert (answer.status_code, answer.json()["error"]) == (400, "token_refused"), answer.text
    elsewhere = await town.call("POST", f"/threads/{other}/payments/deposit", json={"token": good})
    assert (elsewhere.status_code, elsewhere.json()["message"]) == (
        400,
        "Token is locked to another key",
    )
    assert (await town.call("POST", path, json={"token": good})).json()["credited"] == 7
    again = (await town.call("POST", path, json={"token": good})).json()
    assert (again["credited"], again["is_new"], again["session"]["balance"]) == (0, False, 7)
    assert (await town.books()).violations == ()


async def test_a_run_without_an_account_says_what_is_missing_and_goes_on_when_it_is_there(
    town: Town, wallet: Wallet
):
    thread = await town.thread()
    asked = question(await town.run(thread, "1"))
    assert (asked["reason"], asked["request"]) == ("no_session", None)
    assert "POST /threads/{id}/payments" in asked["hint"]
    body = {"refund_key": wallet.key}
    opened = (await town.call("POST", f"/threads/{thread}/payments", json=body)).json()
    assert opened["request"].startswith("creqA")
    await town.pay(thread, wallet, 16)
    state = await town.run(thread, None, resume={"action": "retry"})
    assert state["messages"][-1]["content"] == "done"


async def test_money_after_a_close_goes_to_a_new_session_without_being_asked(
    town: Town, wallet: Wallet
):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 64)
    await town.refunds(thread, wallet)
    asked = question(await town.run(thread, "1"))
    assert (asked["reason"], asked["hint"]) == ("no_session", None)
    token = await wallet.pay(asked["request"], amount=32)
    await town.run(thread, None, resume={"token": token})
    account = await town.account(thread)
    assert (account["epoch"], account["credited"], account["spent"]) == (2, 31, 10)


async def test_a_deleted_thread_gives_the_rest_back(town: Town, wallet: Wallet):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 64)
    assert (await town.call("DELETE", f"/threads/{thread}")).status_code == 204
    assert await town.refunds(thread, wallet) == 63
    assert wallet.balance == 62


async def test_no_model_call_asks_the_mint_for_anything(town: Town, wallet: Wallet, monkeypatch):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 256)
    asked = []

    async def refuse(*request):
        asked.append(request)
        raise AssertionError("the mint was asked")

    with monkeypatch.context() as patch:
        patch.setattr(town.services.payments.mint, "_exchange", refuse)
        state = await town.run(thread, "6")
    assert (state["payment_spent_sats"], asked) == (60, [])


async def test_closing_while_a_run_works_charges_nothing_after_it(town: Town, wallet: Wallet):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 1024)
    running = asyncio.create_task(town.run(thread, "30"))
    async with asyncio.timeout(20):
        while (await town.account(thread))["spent"] < 30:  # noqa: ASYNC110  # over HTTP
            await asyncio.sleep(0.01)
    await town.call("POST", f"/threads/{thread}/payments/close")
    paused = await running
    assert question(paused)["type"] == "payment_exhausted"
    answers = sum(m["type"] == "ai" for m in paused["messages"])
    # What the person was asked for opened the next account: the one that closed is the first.
    async with town.services.pool.connection() as connection:
        cursor = await connection.execute("SELECT * FROM payments.sessions ORDER BY epoch")
        first = await cursor.fetchone()
    assert first["spent"] == answers * 10
    assert (await town.books()).violations == ()


async def test_prometheus_sees_the_ledger(town: Town, wallet: Wallet):
    thread = await town.thread(wallet)
    await town.pay(thread, wallet, 64)
    metrics, clock = Metrics(), SystemClock()
    await metrics.update_payments(town.services.pool)  # at each scrape: it must not audit
    assert "bathysphere_payments_imbalance_sats NaN" in metrics.render().decode()
    assert "bathysphere_payments_audit_timestamp_seconds 0.0" in metrics.render().decode()
    await metrics.audit_payments(town.services.pool, clock)
    text = metrics.render().decode()
    [audited] = re.findall(r"^bathysphere_payments_audit_timestamp_seconds (\S+)", text, re.M)
    assert 0 <= clock.now().timestamp() - float(audited) < 60
    assert 'bathysphere_payments_sats{account="held"} 63.0' in text
    assert 'bathysphere_payments_sessions{status="open"} 1.0' in text
    assert "bathysphere_payments_imbalance_sats 0.0" in text


async def test_the_last_audit_ages_while_the_database_is_away(town: Town):
    """A scrape never waits for the audit, and an alarm does not die of a slow one."""

    class Away:
        def connection(self):
            raise psycopg.OperationalError("gone")

    metrics = Metrics()
    await metrics.audit_payments(town.services.pool, SystemClock())
    before = metrics.render()
    task = asyncio.create_task(metrics.audit_periodically(Away(), SystemClock(), every=0.001))
    await asyncio.sleep(0.02)
    assert not task.done()
    assert metrics.render() == before
    task.cancel()
    await asyncio.wait([task])


async def test_while_payment_is_off_nothing_is_charged_and_nobody_needs_a_wallet(
    payments_database,
):
    from paid_town import paid_graph

    from bathysphere.engine.graphs import Graphs
    from bathysphere.server.process.services import open_services

    settings = PaymentSettings.from_environment()
    assert not settings.is_on
    graphs = Graphs({"paid": paid_graph})
    async with open_services(
        database=payments_database, graphs=graphs, payments=settings
    ) as services:
        assert services.payments is None


async def test_a_stream_that_is_cancelled_again_and_again_is_paid_for_each_time(
    payments_database, fee_mint
):
    """Else somebody could read almost all of an answer, as often as they like, for one charge."""
    empty(payments_database)
    model = ScriptedChatModel(script=[hangs(), hangs(), says("done")])
    graph = build(AgentSpec(name="paid", model=model))
    wallet = Wallet(mint_url=fee_mint.url)
    async with open_town(payments_database, fee_mint.url, graph=lambda: graph) as town:
        thread = await town.thread(wallet)
        await town.pay(thread, wallet, 64)
        given = {"messages": [{"role": "user", "content": "go"}]}

        async def busy() -> bool:
            return (await town.call("GET", f"/threads/{thread}")).json()["status"] == "busy"

        for number in (1, 2):
            body = {"assistant_id": "paid", "input": given if number == 1 else None}
            run = (await town.call("POST", f"/threads/{thread}/runs", json=body)).json()["run_id"]
            async with asyncio.timeout(20):
                while len(model.requests) < number:  # noqa: ASYNC110  # the worker's own pace
                    await asyncio.sleep(0.02)
            await town.call("POST", f"/threads/{thread}/runs/{run}/cancel?wait=true")
            async with asyncio.timeout(20):
                while await busy():  # noqa: ASYNC110  # over HTTP
                    await asyncio.sleep(0.05)
            assert (await town.account(thread))["spent"] == 10 * number
        state = await town.run(thread, None)
        assert state["messages"][-1]["content"] == "done"
        assert (await town.account(thread))["spent"] == 30
        assert (await town.books()).violations == ()
