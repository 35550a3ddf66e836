"""Prepaid use: e-cash in, a charge for each model call, the exact rest back.

Plain Python: no agent framework, no web framework. Nothing is imported here; take what you need
from its module.

| module | what it gives |
|---|---|
| `nuts/` | the Cashu protocol, pure: `curve`, `keysets`, `tokens`, `locks`, `requests`, … |
| `errors` | `TokenRefused(reason)`, `MintRefused(mint_code)`, `MintUnknown`, `MintUnfit` |
| `session_keys` | `SessionKeys(master)`: session keys and swap seeds, derived, never stored |
| `validator` | `validate(token, DepositRules, Keysets) -> ValidDeposit`: pure and offline |
| `mint` | `MintClient(url)`, `KeysetBook(mint, clock)`: the mint over HTTP, its keysets cached |
| `deposits` | `Deposits(book, clock)`: `request(session, …)` as `creqA…`, `check(token, session)` |
| `swaps` | `prepare_swap`, `Reader.finish`: a deposit's one swap, and its answer as money |
| `settlement` | `Settlement(…).turn()`: close, swap, refund; its storage as protocols |
| `ledger/` | the books in PostgreSQL: accounts, charges, settling, refunds, audit |

How they meet: a route opens a session (`SessionKeys.public_key`, `ledger.accounts`), shows
`Deposits.request`, takes a token by `Deposits.check` and `Accounts.deposit`; the middleware
charges; a background task calls `Settlement.turn`. Tests use `bathysphere.testing.mint` (a real
mint) and `bathysphere.testing.wallet` (a person who pays).
"""
