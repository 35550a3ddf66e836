"""The parts of the Cashu protocol (NUTs) that payments need. No network, no clock.

| module | NUTs |
|---|---|
| `curve` | 00: hash to curve, blinding; 12: proofs that a mint signed with its published key |
| `cbor` | the subset of CBOR that tokens and payment requests use, decoded strictly |
| `proofs` | 00: proofs, blinded messages and signatures, and their wire format |
| `keysets` | 01, 02: keysets, their ids, fees and denominations |
| `tokens` | 00: tokens V3 and V4 |
| `locks` | 10, 11: P2PK locks, parsed strictly, and their signatures |
| `derivation` | 13: deterministic secrets from a seed |
| `requests` | 18: payment requests |
"""
