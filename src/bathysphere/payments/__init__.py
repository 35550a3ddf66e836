"""Prepaid usage: e-cash deposits, a charge per model call, and a refund of the unspent balance.

Plain Python: no agent framework, no web framework. This package re-exports nothing; import from
the modules below.

| module | contents |
|---|---|
| `nuts/` | the Cashu protocol, pure: `curve`, `keysets`, `tokens`, `locks`, `requests`, … |
| `errors` | `TokenRefused(reason)`, `MintRefused(mint_code)`, `MintUnknown`, `MintUnfit` |
| `session_keys` | `SessionKeys(master)`: session keys and swap seeds, derived and never stored |
| `validator` | `validate(token, DepositRules, Keysets) -> ValidDeposit`: pure and offline |
| `mint` | `MintClient(url)`: HTTP client of the mint; `KeysetBook(mint, clock)`: keyset cache |
| `deposits` | `Deposits(book, clock)`: `request(session, …)` as `creqA…`, `check(token, session)` |
| `swaps` | `prepare_swap`, `Reader.finish`: the swap of a deposit, and proofs from its response |
| `settlement` | `Settlement(…).turn()`: close, swap, refund; storage protocols |
| `ledger/` | the ledger in PostgreSQL: accounts, charges, settlement, refunds, audit |
| `service` | `PaymentService`: what routes and runs use |

How they fit together: a route opens a session (`SessionKeys.public_key`, `ledger.accounts`),
returns `Deposits.request`, and accepts a token with `Deposits.check` and `Accounts.deposit`; the
middleware charges; a background task calls `Settlement.turn`. Tests use `bathysphere.testing.mint`
(a real mint) and `bathysphere.testing.wallet` (a paying user).
"""
