"""Policy as code: what a plan may do, decided by rule first."""
