"""The ledger: deposits, charges and refunds, in PostgreSQL only.

| module | contents |
|---|---|
| `records` | data types: sessions, deposits, swaps, refunds, and settlement's inputs |
| `accounts` | `Accounts`: open a session, deposit, charge, complete, void, close |
| `swaps` | `Swaps`: freeze a closing session, lease its swaps, record how they end |
| `refunds` | `Refunds`: delivery and claiming of refunds |
| `audit` | the invariants, checked in one query |
| `sealing` | encryption of secrets in the database |

Every method is one transaction. Nothing here contacts a mint or knows the token format.
"""
