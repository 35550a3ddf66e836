"""File backends, one per storage; all pass the same contract."""
