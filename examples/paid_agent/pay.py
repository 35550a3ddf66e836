"""Pay an agent per model call, and get the rest back.

    python pay.py http://127.0.0.1:8123 100 "How deep is the sea?"

The wallet here is the one of the test kit, which a test mint funds. With real money, a wallet that
can pay a Cashu payment request (NUT-18) takes its place: print `request`, and pass on its token.
"""

import asyncio
import sys
from typing import Any

import httpx

from bathysphere.testing.wallet import Wallet


async def ask(url: str, sats: int, question: str) -> str:
    """Deposit, ask, and take back what was not used; the answer."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        terms = (await http.get("/payments")).json()
        print(f"Price: {terms['price']['step']} sat per model call")
        wallet = Wallet(mint_url=terms["mint"])
        thread = await _paid_thread(http, wallet, sats)
        said = {"messages": [{"role": "user", "content": question}]}
        run = {"assistant_id": "simple", "input": said}
        state = (await http.post(f"/threads/{thread}/runs/wait", json=run)).json()
        print(f"Spent: {state['payment_spent_sats']} sat")
        print(f"Back in the wallet: {await _refunded(http, wallet, thread)} sat")
    return str(state["messages"][-1]["content"])


async def _paid_thread(http: httpx.AsyncClient, wallet: Wallet, sats: int) -> str:
    thread = (await http.post("/threads", json={})).json()["thread_id"]
    account = f"/threads/{thread}/payments"
    await http.post(account, json={"refund_key": wallet.key})
    request = (await http.post(f"{account}/deposit")).headers["x-cashu"]  # 402 Payment Required
    token = await wallet.pay(request, amount=sats)
    paid = await http.post(f"{account}/deposit", headers={"x-cashu": token})
    print(f"Deposited: {paid.raise_for_status().json()['credited']} of {sats} sat")
    return str(thread)


async def _refunded(http: httpx.AsyncClient, wallet: Wallet, thread: str) -> int:
    await http.post(f"/threads/{thread}/payments/close")
    refunds: dict[str, Any] = {"is_settled": False}
    while not refunds["is_settled"]:
        await asyncio.sleep(0.2)
        refunds = (await http.get(f"/threads/{thread}/payments/refunds")).json()
    for refund in refunds["refunds"]:
        await wallet.receive(refund["token"])
    return wallet.balance


if __name__ == "__main__":
    print(asyncio.run(ask(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
