"""The ledger: what was deposited, spent and given back, in PostgreSQL and nowhere else.

| module | what it does |
|---|---|
| `records` | the nouns: sessions, deposits, swaps, refunds, and what settlement hands in |
| `accounts` | `Accounts`: open a session, deposit, charge, complete, void, close |
| `settling` | `Settling`: freeze a closing session, lease its swaps, write down how they end |
| `refunds` | `Refunds`: what goes back, delivered and claimed |
| `audit` | the invariants, checked in one query |
| `sealing` | what is a secret in the database is encrypted |

Every method is one transaction. Nothing here speaks to a mint or knows what a token looks like.
"""
