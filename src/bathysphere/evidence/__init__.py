"""Evidence: what was read, what is quoted from it, and a report whose every quote can be checked.

Plain Python; no framework, no network, no LLM. The public names, by module:

- `snapshots`: `Snapshot`, `SnapshotInfo`, `take_snapshot`, `by_id`, `SnapshotStore` with
  `MemorySnapshots` and `FolderSnapshots`, `UnknownSnapshot`
- `normal`: `normalise`, `plain`, `Span`: the one normalisation
- `quotes`: `check_quote` → `QuoteCheck` with `Quote`s or a `Refusal`; `stands`
- `report`: `Draft`, `DraftSection`, `DraftClaim`, `Citation`, `DraftContradiction` (what a model
  writes); `Report`, `Section`, `Claim`, `Finding`, `Contradiction`, `Source`, `Tally` (what comes
  out)
- `settle`: `settle(draft, snapshots, question=…)` → `Report`
- `contradictions`: `find_contradictions`; `sources`: `clusters`, `flags_of`; `numbers`:
  `missing_numbers`; `injection`: `injected_spans`
"""
