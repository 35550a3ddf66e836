"""Research over HTTP: questions, plan decisions, reports and proofs."""
