"""Evidence: snapshots of sources, quotes from them, and reports whose every quote is verifiable.

Plain Python; no framework, no network, no LLM. The public names, by module:

- `snapshots`: `Snapshot`, `SnapshotInfo`, `take_snapshot`, `by_id`,
  `UnknownSnapshot`
- `normal`: `normalise`, `plain`, `Span`: the normalisation for comparing quotes
- `quotes`: `check_quote` → `QuoteCheck` with `Quote`s or a `Refusal`; `stands`
- `report`: `Draft`, `DraftSection`, `DraftClaim`, `Citation`, `DraftContradiction` (what a model
  writes); `Report`, `Section`, `Claim`, `Finding`, `Contradiction`, `Source`, `Tally` (what comes
  out)
- `settle`: `settle(draft, snapshots, question=…)` → `Report`
- `contradictions`: `find_contradictions`; `sources`: `clusters`, `flags_of`; `numbers`:
  `missing_numbers`; `injection`: `injected_spans`
"""
